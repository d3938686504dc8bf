/**
 * The transport of changes: one sequence of messages for the whole fleet, the last value of each
 * subject kept. Two implementations, one conformance suite (bus.conformance.ts).
 */
export interface OutgoingMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StoredMessage {
  readonly subject: string;
  /** Position in the fleet's sequence. */
  readonly sequence: number;
  readonly payload: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export type BusItem =
  | { readonly kind: "message"; readonly message: StoredMessage }
  /** Everything that was stored when following began has been delivered. */
  | { readonly kind: "caught-up"; readonly sequence: number }
  /** The sequence began anew (the stream was lost): what was received before may not hold any more. */
  | { readonly kind: "reset"; readonly reason: string };

export type BusState =
  | { readonly connected: true }
  | { readonly connected: false; readonly sinceMs: number; readonly reason: string };

export interface FollowOptions {
  /** A subject filter; `>` stands for any rest. */
  readonly filter: string;
  /** 0 begins with the oldest message that is kept. */
  readonly afterSequence: number;
}

export interface Bus extends AsyncDisposable {
  /**
   * Stores messages in order and resolves to their sequences when all are safe. While the servers are
   * away it waits for them. @throws BusError BUS_PUBLISH, BUS_CLOSED
   */
  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]>;
  /** The last value of every subject under `filter`, in order of sequence. */
  lastValues(filter: string): Promise<readonly StoredMessage[]>;
  /** Messages from a position on, in order of sequence and without end; survives reconnects. */
  follow(options: FollowOptions, stop: AbortSignal): AsyncIterable<BusItem>;
  readonly state: BusState;
  /** Called at every change of `state`. Returns a function that ends that. */
  onState(listener: (state: BusState) => void): () => void;
}

/** Subjects of the control plane begin with this; its number is the version of the payloads. */
export const subjectRoot = "flotilla.v1";
