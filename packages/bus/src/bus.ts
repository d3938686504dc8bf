/**
 * The transport of changes: one sequence of messages for the whole fleet, the last value of each
 * subject kept. Two implementations, one conformance suite (bus.conformance.ts).
 */
import type { KeyValue, KeyValueOptions } from "./key-value.ts";
import type { SetAside } from "./set-aside.ts";

/** A message to be stored; the last one of each subject is kept. */
export interface OutgoingMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A message as it was stored. */
export interface StoredMessage {
  readonly subject: string;
  /** Position in the fleet's sequence. */
  readonly sequence: number;
  readonly payload: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** When it was stored, by the server's clock. */
  readonly storedAtMs: number;
  /** Why it does not count, where messages are authenticated. */
  readonly refused?: string;
}

/** Items that a follower receives, in the order of the sequence. */
export type BusItem =
  | { readonly kind: "message"; readonly message: StoredMessage }
  /** Everything that was stored when following began has been delivered. */
  | { readonly kind: "caught-up"; readonly sequence: number; readonly epoch: string }
  /**
   * Earlier events may not hold any more: the sequence began anew, or deletes that the position has not seen were forgotten meanwhile.
   * Everything that is stored follows.
   */
  | { readonly kind: "reset"; readonly reason: string; readonly epoch: string };

/** The bus is connected, or disconnected since a time in milliseconds since 1970. */
export type BusState =
  | { readonly connected: true }
  | { readonly connected: false; readonly sinceMs: number; readonly reason: string };

/** The subjects to follow, and the position to start after. */
export interface FollowOptions {
  /** Subject filters; `>` stands for any rest. They do not overlap. */
  readonly filters: readonly string[];
  /** 0 begins with the oldest message that is kept. */
  readonly afterSequence: number;
  /** The epoch that `afterSequence` was read in; in another one it means nothing. */
  readonly epoch?: string | undefined;
  /** `Bus.mark` as it was when `afterSequence` had been read. */
  readonly mark?: string | undefined;
}

/** How stored messages are read. */
export interface ReadOptions {
  /** Limits the rate of reading, so that messages published meanwhile are not delayed. */
  readonly isPaced?: boolean;
  /** Only values that were stored after this position. */
  readonly afterSequence?: number;
}

/** A connection to the bus. Disposing of it closes the connection and ends all followers. */
export interface Bus extends AsyncDisposable {
  /**
   * Stores messages in order and resolves to their sequences when all are safe. While the servers are
   * away it waits for them. @throws BusError BUS_PUBLISH when one is too large, BUS_CLOSED
   */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]>;
  /** The last value of every subject under `filter`, in order of sequence; waits for servers that are away. */
  lastValues(filter: string, options?: ReadOptions): Promise<readonly StoredMessage[]>;
  /** The number of subjects under `filter` that have a value, deletes included. Of several servers, one that is behind may answer. */
  count(filter: string): Promise<number>;
  /** The position of the last value under `filter`; 0 when there is none. */
  lastSequence(filter: string): Promise<number>;
  /** Messages from a position on, in order of sequence and without end; survives reconnects. */
  follow(options: FollowOptions, stop: AbortSignal): AsyncIterable<BusItem>;
  /** Removes messages that are last values, for good; who follows from before the last of them gets a `reset`. */
  forget(sequences: readonly number[]): Promise<void>;
  /** Small things that services share: leases, tokens. */
  keyValue(bucket: string, options?: KeyValueOptions): Promise<KeyValue>;
  /** Names the sequence. It changes when the stream was lost and made anew: positions begin again then. */
  readonly epoch: string;
  /**
   * Names the last message that was followed: a server that came back without its last messages, and took others since, has another
   * one in that place. Undefined before the first.
   */
  readonly mark: string | undefined;
  /** Called when `epoch` has changed. Returns a function that ends that. */
  onEpoch(listener: (epoch: string) => void): () => void;
  /** The largest payload and headers of one message. */
  readonly maxMessageBytes: number;
  /** Unreadable values, of all readers of this bus. */
  readonly setAside: SetAside;
  readonly state: BusState;
  /** Called at every change of `state`. Returns a function that ends that. */
  onState(listener: (state: BusState) => void): () => void;
}

/** Subjects of the control plane begin with this; its number is the version of the payloads. */
export const subjectRoot = "flotilla.v1";

/** Holds the highest sequence that was forgotten. */
export const horizonSubject = `${subjectRoot}.horizon`;

/** Where a reader is: what it has read, and the last message that it saw. */
export interface ReadPlace {
  readonly position: number;
  readonly epoch: string | undefined;
  readonly mark: Mark | undefined;
}

/** The place of a message, and when it was stored: a message there in another history was stored later. */
export interface Mark {
  readonly sequence: number;
  readonly storedAtMs: number;
}

/**
 * The message at the place of a mark: the time of the message that is there, `replaced` where its subject has a newer value since, `same`
 * where the servers cannot have been rewound meanwhile.
 */
export type MarkedPlace = "same" | "replaced" | number;

/** Why what was read up to a position does not continue; undefined when it does. */
export function whyReset(
  from: ReadPlace,
  now: { readonly last: number; readonly epoch: string; readonly horizon: number; readonly marked: MarkedPlace },
): string | undefined {
  if (from.position === 0) return undefined;
  if (from.epoch !== undefined && from.epoch !== now.epoch) return "the stream was lost and made anew";
  const reached = Math.max(from.position, from.mark?.sequence ?? 0);
  if (reached > now.last) return `position ${reached} lies after the stream's end, ${now.last}`;
  if (from.mark !== undefined && now.marked === "replaced")
    return `message ${from.mark.sequence} was replaced while the servers were unreachable; the history that replaced it is not known`;
  if (from.mark !== undefined && now.marked !== "same" && now.marked !== from.mark.storedAtMs)
    return `message ${from.mark.sequence} is another one than was read: the stream was rewound and written on`;
  if (from.position < now.horizon)
    return `deletes up to ${now.horizon} are forgotten, position ${from.position} has not seen them`;
  return undefined;
}

/** A mark as a text, which others keep beside a position. */
export function markText({ sequence, storedAtMs }: Mark): string {
  return `${sequence}/${storedAtMs}`;
}

/** Undefined for a text that is no mark. */
export function readMark(text: string | undefined): Mark | undefined {
  const [, sequence, storedAtMs] = /^(\d{1,15})\/(\d{1,15})$/.exec(text ?? "") ?? [];
  if (sequence === undefined || storedAtMs === undefined) return undefined;
  return { sequence: Number(sequence), storedAtMs: Number(storedAtMs) };
}
