/**
 * The snapshot: every input of the mesh by key, and the position in the fleet's sequence up to which
 * they hold. One writer at a time; any replica loads it.
 */
export interface Snapshot {
  readonly position: number;
  /** The sequence that `position` belongs to; absent when its writer named none. */
  readonly epoch?: string;
  /** The last message of that sequence that its writer had read. */
  readonly mark?: string;
  readonly entries: ReadonlyMap<string, Uint8Array>;
  /** Keys of entries that cannot be read or are not authentic, in a snapshot that is complete otherwise. */
  readonly setAside: readonly string[];
}

/** Tags of the stored entries, for a writer to write the differences only. */
export interface Claim {
  /** Tag of each entry. */
  readonly stored: ReadonlyMap<string, string>;
  /** The tag that an entry would have: equal for equal entries. */
  readonly tagOf: (key: string, value: Uint8Array) => string;
}

/** Entries to write or remove, and the position that the snapshot reaches with them. */
export interface SnapshotChange {
  /** Values by key; `undefined` removes. */
  readonly entries: ReadonlyMap<string, Uint8Array | undefined>;
  readonly position: number;
  readonly epoch?: string | undefined;
  readonly mark?: string | undefined;
}

/** A replica's own report: a summary that others read often, and parts of which only changed ones are written. */
export interface ReplicaReport {
  /** JSON, as all parts. */
  readonly summary: unknown;
  /** Undefined removes. */
  readonly parts: ReadonlyMap<string, unknown>;
  /** Nothing of earlier reports stays. */
  readonly isWhole: boolean;
}

/** Where values are noted that cannot be read, by their place. */
export interface UnreadableValues {
  note(place: string, error: unknown): void;
  heal(place: string): void;
}

/** Connection of the store, and when it was lost, in milliseconds since 1970. */
export type StoreState =
  | { readonly connected: true }
  | { readonly connected: false; readonly sinceMs: number; readonly reason: string };

/** The snapshot and the lock of its writer. */
export interface SnapshotStore extends AsyncDisposable {
  /**
   * Undefined when there is none.
   * @throws StateError STATE_FORMAT when another version wrote it, STATE_DAMAGED when entries were taken away or exchanged or the
   * position was changed, STATE_AWAY
   */
  load(): Promise<Snapshot | undefined>;
  /**
   * Tries to become the writer, or stays it. A new writer receives what is stored, to write only the
   * differences. Undefined when another one is.
   */
  claim(): Promise<Claim | undefined>;
  /**
   * Writes in one step. False when another writer has taken over, or the store is not as it was left:
   * claim again. @throws StateError STATE_AWAY
   */
  write(change: SnapshotChange): Promise<boolean>;
  /**
   * A short-lived record of this replica, for answers about the whole fleet. Returns how many parts are stored now:
   * another number than expected means that some were lost, and the whole is to be written.
   */
  putReplica(id: string, report: ReplicaReport, ttlMs: number): Promise<number>;
  /** Deletes the record of a replica that ends, so that others do not count it until its time is over. */
  removeReplica(id: string): Promise<void>;
  /** Summaries by id of replica. */
  replicas(): Promise<ReadonlyMap<string, unknown>>;
  /** Parts by replica id and name, without those of the replica `except`. */
  replicaParts(except?: string): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>>;
  readonly state: StoreState;
  onState(listener: (state: StoreState) => void): () => void;
}
