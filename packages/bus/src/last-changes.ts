/** The changes that the stream holds now, each with its own place in the sequence and its cause. */
import type { Cause, Change } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { type Bus, markText, type StoredMessage } from "./bus.ts";
import { contentOf, isSealed, marksOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { deleteOf } from "./topics.ts";

/** A change as the stream holds it now. */
export interface LastChange {
  readonly change: Change;
  readonly sequence: number;
  /** As `Bus.mark`, for following from here. */
  readonly mark: string;
  readonly cause: Cause;
}

/** The topic that is read, and the seal of Secrets. */
export interface LastChangesOptions {
  readonly bus: Bus;
  /** One of `filters`. */
  readonly filter: string;
  readonly seal: Seal | undefined;
}

/** In order of the sequence, read some at a time. Unreadable values are set aside by name; sealed ones are left out where there is no key. */
export async function* lastChanges(options: LastChangesOptions): AsyncGenerator<LastChange, void, undefined> {
  const { bus, filter, seal } = options;
  const timeSlice = new TimeSlice();
  for (const message of await bus.lastValues(filter)) {
    if (timeSlice.isDue) await timeSlice.yield();
    if (deleteOf(message.subject) === undefined || (seal === undefined && isSealed(message))) continue;
    const found = read(message, options);
    if (found !== undefined) yield found;
  }
}

function read(message: StoredMessage, { bus, seal }: LastChangesOptions): LastChange | undefined {
  const { subject, sequence } = message;
  try {
    const change = contentOf(message, seal);
    const found = { change, sequence, mark: markText(message), cause: marksOf(message).cause };
    bus.setAside.heal(subject);
    return found;
  } catch (error) {
    bus.setAside.note(subject, error);
    return undefined;
  }
}
