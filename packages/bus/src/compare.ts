/** Compares the state of a reader with the stream: the differences as changes that repair the reader. */
import type { Change } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { contentOf, prepare, stateOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { deleteOf, filters, type KeyState, subjectOf, topicOf } from "./topics.ts";

/** The state that the reader holds, and its position. */
export interface CompareOptions {
  readonly bus: Bus;
  readonly seal: Seal | undefined;
  /** The reader's state is complete up to here; later values are still on their way to it. */
  readonly position: number;
  readonly held: Iterable<KeyState>;
  /** Topics that are looked at. */
  readonly topics: ReadonlySet<string>;
}

/**
 * Unreadable values are set aside and are no difference.
 * @throws BusError BUS_SEALED when a differing value is sealed and there is no key
 */
export async function differences(options: CompareOptions): Promise<readonly Change[]> {
  const { bus, seal, position, topics } = options;
  const held = new Map([...options.held].map(({ subject, fingerprint }) => [subject, fingerprint]));
  const found: Change[] = [];
  const timeSlice = new TimeSlice();
  for (const message of await bus.lastValues(filters.everything)) {
    const { subject, sequence } = message;
    if (!topics.has(topicOf(subject))) continue;
    const own = held.get(subject);
    held.delete(subject);
    if (sequence > position) continue;
    const state = await stateOf(message, seal, timeSlice);
    // The value in force stays until a good one is stored in its place.
    if (state.kind === "unreadable") bus.setAside.note(subject, state.error);
    else if (state.kind === "delete") {
      if (own !== undefined) found.push(...deletesOf(subject));
    } else if (own !== state.fingerprint) found.push(contentOf(message, seal));
  }
  // The stream holds nothing about the remaining keys any more, not even a delete.
  for (const subject of held.keys()) if (topics.has(topicOf(subject))) found.push(...deletesOf(subject));
  return found;
}

/** How a change counts in digests. */
export function keyState(change: Change, seal: Seal | undefined): KeyState {
  return { subject: subjectOf(change), fingerprint: prepare(change, seal).fingerprint };
}

function deletesOf(subject: string): readonly Change[] {
  const change = deleteOf(subject);
  return change === undefined ? [] : [change];
}
