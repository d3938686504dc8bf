/** What the stream holds now, each change with its own place in the sequence and its cause. */
import type { Cause, Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { contentOf, isSealed, marksOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { deleteOf } from "./topics.ts";

export interface LastChange {
  readonly change: Change;
  readonly sequence: number;
  readonly cause: Cause;
}

export interface LastChangesOptions {
  readonly bus: Bus;
  /** One of `filters`. */
  readonly filter: string;
  readonly seal: Seal | undefined;
  readonly log: Logger;
}

/** In order of the sequence. What cannot be read is left out and logged; sealed ones too where there is no key. */
export async function lastChanges({ bus, filter, seal, log }: LastChangesOptions): Promise<readonly LastChange[]> {
  const messages = await bus.lastValues(filter);
  return messages.flatMap((message) => {
    if (deleteOf(message.subject) === undefined || (seal === undefined && isSealed(message))) return [];
    try {
      return [{ change: contentOf(message, seal), sequence: message.sequence, cause: marksOf(message).cause }];
    } catch (error) {
      log.error("a change cannot be read", { subject: message.subject, sequence: message.sequence, error });
      return [];
    }
  });
}
