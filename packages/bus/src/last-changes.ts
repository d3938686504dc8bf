/** What the stream holds now, each change with its own place in the sequence and its cause. */
import type { Cause, Change } from "@flotilla/model";
import { Breather, type Logger } from "@flotilla/runtime";
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

/**
 * In order of the sequence, read some at a time. What cannot be read is left out and logged; sealed ones too where there is no
 * key.
 */
export async function* lastChanges(options: LastChangesOptions): AsyncGenerator<LastChange, void, undefined> {
  const { bus, filter, seal, log } = options;
  const breather = new Breather();
  for (const message of await bus.lastValues(filter)) {
    if (breather.isDue) await breather.rest();
    if (deleteOf(message.subject) === undefined || (seal === undefined && isSealed(message))) continue;
    try {
      yield { change: contentOf(message, seal), sequence: message.sequence, cause: marksOf(message).cause };
    } catch (error) {
      log.error("a change cannot be read", { subject: message.subject, sequence: message.sequence, error });
    }
  }
}
