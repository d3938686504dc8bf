/**
 * The stream's values of one publisher, by subject, with which new changes are compared. The changes themselves are there to be published
 * again should the stream be lost, unless the source can be asked for them. Changes as messages of one group, and the bounds that a message
 * must keep: NATS would refuse it again with each try.
 */
import type { Cause, Change } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import type { Bus, OutgoingMessage, StoredMessage } from "./bus.ts";
import { marks, maxPlainBytes, type Prepared, publisherOf, stateOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { type Digests, deleteOf, filters, filtersOf, RunningDigests, subjectOf, topicOf } from "./topics.ts";

interface Held {
  readonly fingerprint: string;
  readonly change?: Change;
}

/** The remembered part of a change; the change itself only where changes are kept. */
export interface Remembered extends Pick<Prepared, "subject" | "fingerprint"> {
  readonly change: Change | Pick<Change, "type" | "op">;
}

/** The keys of one publisher with their fingerprints, and the changes where they must be published again. */
export class HeldChanges {
  readonly #held = new Map<string, Held>();
  readonly #digests = new RunningDigests();
  readonly #current: (() => Iterable<Change>) | undefined;

  /** @param current the source's whole state, asked for in place of remembering each change */
  constructor(current: (() => Iterable<Change>) | undefined) {
    this.#current = current;
  }

  get subjects(): readonly string[] {
    return [...this.#held.keys()];
  }

  has(subject: string): boolean {
    return this.#held.has(subject);
  }

  get size(): number {
    return this.#held.size;
  }

  digests(): Digests {
    return this.#digests.read();
  }

  /** Read in the stream. */
  read(subject: string, fingerprint: string): void {
    this.#set(subject, { fingerprint });
  }

  /** Also remembers the change of an equal one, for the stream may be lost. */
  differs(prepared: Prepared): boolean {
    const known = this.#held.get(prepared.subject);
    if (prepared.change.op === "delete") return known !== undefined;
    if (known?.fingerprint !== prepared.fingerprint) return true;
    this.remember(prepared);
    return false;
  }

  /** Stored in the stream. */
  remember({ change, subject, fingerprint }: Remembered): void {
    if (change.op === "delete") this.#set(subject, undefined);
    else this.#set(subject, { fingerprint, ...(this.keepsChanges && "key" in change && { change }) });
  }

  /** False: of changes that are remembered their topic and operation are enough. */
  get keepsChanges(): boolean {
    return this.#current === undefined;
  }

  /**
   * Takes over what the stream was found to hold, but for subjects that were published since. Returns what has to be published
   * for it to hold again what it should.
   * @param read the subjects that were read; all unless given
   */
  correct(
    stored: ReadonlyMap<string, string>,
    publishedSince: ReadonlySet<string>,
    read?: ReadonlySet<string>,
  ): readonly Change[] {
    const lost = new Map<string, Held>();
    for (const subject of read ?? this.#held.keys()) {
      const held = this.#held.get(subject);
      if (held === undefined || publishedSince.has(subject)) continue;
      if (stored.get(subject) !== held.fingerprint) lost.set(subject, held);
    }
    const strange = [...stored.keys()].filter((subject) => !this.#held.has(subject) && !publishedSince.has(subject));
    const changes = [...this.#changesOf(lost), ...strange.flatMap((subject) => deleteOf(subject) ?? [])];
    for (const subject of [...lost.keys(), ...strange]) {
      const fingerprint = stored.get(subject);
      this.#set(subject, fingerprint === undefined ? undefined : { fingerprint });
    }
    return changes;
  }

  /** Some at a time, as they are asked for. */
  changes(): Iterable<Change> {
    return this.#changesOf(this.#held);
  }

  *#changesOf(held: ReadonlyMap<string, Held>): Generator<Change, void, undefined> {
    if (held.size === 0) return;
    if (this.#current === undefined) for (const { change } of held.values()) if (change !== undefined) yield change;
    for (const change of this.#current?.() ?? []) if (held.has(subjectOf(change))) yield change;
  }

  #set(subject: string, held: Held | undefined): void {
    const before = this.#held.get(subject);
    if (before?.fingerprint !== held?.fingerprint) {
      if (before !== undefined) this.#digests.note({ subject, ...before }, -1);
      if (held !== undefined) this.#digests.note({ subject, ...held }, 1);
    }
    if (held === undefined) this.#held.delete(subject);
    else this.#held.set(subject, held);
  }
}

/** A fingerprint that nothing has. */
const unreadable = "unreadable";

interface Reading {
  readonly bus: Pick<Bus, "lastValues" | "setAside">;
  readonly publisher: string;
  readonly seal: Seal | undefined;
  /** Topics of the publisher, as far as they are known. */
  readonly topics: ReadonlySet<string>;
  /** Reads only the topics, after this position, at a limited rate; otherwise the whole stream at full speed. */
  readonly topicsAfter?: number;
}

/** Reads a publisher's messages from the stream, yields to other work in between, and returns them. */
export async function readPublished(
  { bus, publisher, seal, topics, topicsAfter }: Reading,
  onHeld: (subject: string, fingerprint: string) => void,
): Promise<readonly StoredMessage[]> {
  const messages =
    topicsAfter === undefined ? await bus.lastValues(filters.everything) : await readPaced(bus, topics, topicsAfter);
  const timeSlice = new TimeSlice();
  for (const message of messages) {
    if (publisherOf(message) !== publisher) continue;
    const state = await stateOf(message, seal, timeSlice);
    const { subject } = message;
    if (state.kind !== "unreadable") bus.setAside.heal(subject);
    else bus.setAside.note(subject, state.error);
    if (state.kind === "put") onHeld(subject, state.fingerprint);
    // Differs from all that the publisher has for its place, and is deleted when it has nothing.
    else if (state.kind === "unreadable" && topics.has(topicOf(subject))) onHeld(subject, unreadable);
  }
  return messages;
}

/** One type of change after the other, each in order of sequence. */
async function readPaced(
  bus: Reading["bus"],
  topics: ReadonlySet<string>,
  afterSequence: number,
): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (const filter of filtersOf(topics))
    for (const message of await bus.lastValues(filter, { isPaced: true, afterSequence })) found.push(message);
  return found;
}

/** A change as it is published, except for the marks of its group. */
export interface Packed extends Pick<OutgoingMessage, "payload" | "headers"> {
  readonly remembered: Remembered;
}

/** Changes that are written together as messages: each carries the mark of its group, so that readers can put it together again. */
export function groupMessages(packed: readonly Packed[], cause: Cause): readonly OutgoingMessage[] {
  const sizes = new Map<string, number>();
  for (const { remembered } of packed) sizes.set(remembered.change.type, (sizes.get(remembered.change.type) ?? 0) + 1);
  return packed.map(({ remembered, payload, headers }) => {
    const sizeInTopic = sizes.get(remembered.change.type) ?? 1;
    const group = { id: `${cause.epoch}/${cause.revision}`, size: packed.length, sizeInTopic };
    return { subject: remembered.subject, payload, headers: { ...headers, ...marks(remembered, cause, group) } };
  });
}

/** The size that headers add to a payload, at most. */
const headerBytes = 2_048;

/** A message's control line holds its subject twice at most, and NATS takes 4,096 bytes (docs/decisions/0149-long-keys.md). */
const maxSubjectBytes = 2_000;

/**
 * The bound of the bus: a larger message is refused by name before it is sent, since it would be sent again for ever. Undefined when the
 * message can travel. @param plainBytes of the payload before it was packed
 */
export function whyRefused(message: OutgoingMessage, plainBytes: number, maxMessageBytes: number): string | undefined {
  const { length } = message.subject;
  if (length > maxSubjectBytes) return `a key of ${length} bytes is more than the bus takes, ${maxSubjectBytes}`;
  if (plainBytes > maxPlainBytes)
    return `${plainBytes} bytes before packing are more than readers unpack, ${maxPlainBytes}`;
  const bytes = messageBytes(message) + headerBytes;
  return bytes > maxMessageBytes ? `${bytes} bytes are more than the bus takes, ${maxMessageBytes}` : undefined;
}

/** The size that counts towards `maxMessageBytes`. */
export function messageBytes({ payload, headers = {} }: OutgoingMessage): number {
  let bytes = payload.length;
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0) + 4;
  return bytes;
}
