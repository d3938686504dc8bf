/** The mesh's inputs by key, as they came, and the snapshot that is written of them, with which a lost stream is compared. */
import { BusError, decodeChange, encodeChange, keyText, type Seal } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import type { Claim, Snapshot, SnapshotStore } from "@flotilla/state";

export class Inputs {
  readonly #byKey = new Map<string, Change>();
  /** Keys published again since the stream was lost; undefined while it is whole. */
  #received: Set<string> | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  entries(): Iterable<readonly [string, Change]> {
    return this.#byKey;
  }

  /** Puts only; deleted keys leave nothing. */
  record(changes: readonly Change[]): void {
    for (const change of changes) {
      const key = keyText(change);
      this.#received?.add(key);
      if (change.op === "put") this.#byKey.set(key, change);
      else this.#byKey.delete(key);
    }
  }

  /** The stream was lost: the inputs stay in force until everything has been published again. */
  beginAgain(): void {
    this.#received = new Set();
  }

  /** After everything was published again: deletes for what was not. */
  endAgain(): readonly Change[] {
    const received = this.#received;
    this.#received = undefined;
    if (received === undefined) return [];
    return [...this.#byKey]
      .filter(([key]) => !received.has(key))
      .map(([, { type, key }]) => ({ type, op: "delete", key }) as Change);
  }
}

/**
 * Keeps the shared snapshot up to date: one replica at a time writes, what changed only. While Redis
 * is away changes gather; when it is back, or another writer is gone, the differences are written.
 */
export interface SnapshotWriterOptions {
  readonly store: SnapshotStore;
  readonly inputs: Inputs;
  /** Nothing is written while the inputs are not those of one position. */
  readonly isWhole: () => boolean;
  /** The last message of the stream that was read, whose changes are in the inputs or come with the next write. */
  readonly mark: () => string | undefined;
  readonly seal: Seal | undefined;
  readonly log: Logger;
  /** Changes within this time are written together. */
  readonly gatherMs: number;
  /** How often a replica that does not write tries to become the writer. */
  readonly claimMs: number;
}

/** Keys of what is gone that are kept while Redis is away; comparing everything costs less than more of them. */
const maxGone = 10_000;

export class SnapshotWriter {
  readonly #options: SnapshotWriterOptions;
  readonly #pending = new Map<string, Change | undefined>();
  readonly #wakeup = new Wakeup();
  #position = 0;
  #epoch: string | undefined;
  #isWriter = false;

  constructor(options: SnapshotWriterOptions) {
    this.#options = options;
  }

  /** Notes changes; `key` as the inputs have it. A replica that becomes the writer compares everything: until then nothing is kept. */
  note(changes: Iterable<readonly [string, Change | undefined]>, position: number, epoch: string | undefined): void {
    if (this.#isWriter) for (const [key, change] of changes) this.#pending.set(key, change);
    if (this.#pending.size > this.#options.inputs.size + maxGone) this.#giveUp();
    this.#position = position;
    this.#epoch = epoch;
    this.#wakeup.wake();
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const { gatherMs, claimMs, log } = this.#options;
    while (!stop.aborted) {
      await this.#wakeup.wait(stop, claimMs);
      if (stop.aborted) return;
      await delay(gatherMs, stop);
      try {
        await this.#writePending();
      } catch (error) {
        if (this.#isWriter) log.warn("snapshot not written", { error });
        this.#giveUp();
      }
    }
  }

  async #writePending(): Promise<void> {
    const { store, inputs, log, isWhole, mark } = this.#options;
    if (!store.state.connected || this.#position === 0 || !isWhole()) return;
    if (!this.#isWriter) {
      const claimed = await store.claim();
      if (claimed === undefined) return;
      this.#isWriter = true;
      log.info("writing the snapshot", { stored: claimed.stored.size, inputs: inputs.size });
      this.#differences(claimed);
    }
    const pending = new Map(this.#pending);
    this.#pending.clear();
    const entries = new Map([...pending].map(([key, change]) => [key, change && this.#encode(key, change)]));
    // Also without entries: it keeps the lock.
    if (await store.write({ entries, position: this.#position, epoch: this.#epoch, mark: mark() })) return;
    this.#giveUp();
  }

  /** The next claim compares everything anew. Keys of what came and went would add up until then. */
  #giveUp(): void {
    this.#isWriter = false;
    this.#pending.clear();
  }

  #differences({ stored, tagOf }: Claim): void {
    for (const key of stored.keys()) this.#pending.set(key, undefined);
    for (const [key, change] of this.#options.inputs.entries()) {
      // Sealed entries differ each time they are sealed, so they are written anew.
      if (!isSecret(key) && stored.get(key) === tagOf(key, encodeChange(change))) this.#pending.delete(key);
      else this.#pending.set(key, change);
    }
  }

  #encode(key: string, change: Change): Uint8Array {
    const plain = encodeChange(change);
    const { seal } = this.#options;
    return isSecret(key) && seal !== undefined ? seal.seal(plain) : plain;
  }
}

export interface SnapshotChanges {
  readonly changes: readonly Change[];
  /** Keys of entries that are no changes of their key, with the reasons. */
  readonly unreadable: ReadonlyMap<string, unknown>;
}

/** The changes a snapshot holds. */
export function snapshotChanges({ entries }: Snapshot, seal: Seal | undefined): SnapshotChanges {
  const changes: Change[] = [];
  const unreadable = new Map<string, unknown>();
  for (const [key, bytes] of entries) {
    try {
      const change = decodeChange(isSecret(key) && seal !== undefined ? seal.open(bytes) : bytes);
      if (keyText(change) !== key) throw new BusError("BUS_BAD_EVENT", "it is a change of another key");
      changes.push(change);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      unreadable.set(key, error);
    }
  }
  return { changes, unreadable };
}

function isSecret(key: string): boolean {
  return key.startsWith("config Secret/");
}
