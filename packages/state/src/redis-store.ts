/** The store in Redis: one hash of entries, one of what is said about them, a lock with a limited life. */
import { randomUUID } from "node:crypto";
import { Breather } from "@flotilla/runtime";
import { combine, emptyChecksum, entryHash, packEntry, unpackEntry } from "./entry-codec.ts";
import { StateError } from "./errors.ts";
import { RedisLink, type RedisLinkOptions } from "./redis-link.ts";
import { RedisReports } from "./redis-reports.ts";
import { claimScript, keys, releaseScript, writeScript } from "./redis-scripts.ts";
import type { ReplicaReport, Snapshot, SnapshotChange, SnapshotStore, StoreState } from "./snapshot-store.ts";

export interface RedisStoreOptions extends RedisLinkOptions {
  readonly lockMs: number;
}

/** Changes with the form of the entries; others are refused by name. */
const format = "1";
/** A hash that no entry has: what cannot be read is written anew. */
const unreadable = "f".repeat(32);

export function openRedis(options: RedisStoreOptions): SnapshotStore {
  return new RedisStore(options);
}

class RedisStore implements SnapshotStore {
  readonly #link: RedisLink;
  readonly #reports: RedisReports;
  readonly #lockMs: number;
  readonly #token = randomUUID();
  /** Hash of each stored entry, while we are the writer. */
  #hashes = new Map<string, string>();
  /** What the store says, and what its entries have: they differ when it is damaged. */
  #checksum = { said: "", found: emptyChecksum };

  constructor(options: RedisStoreOptions) {
    this.#link = new RedisLink(options);
    this.#reports = new RedisReports(this.#link);
    this.#lockMs = options.lockMs;
  }

  get state(): StoreState {
    return this.#link.state;
  }

  onState(listener: (state: StoreState) => void): () => void {
    return this.#link.onState(listener);
  }

  async load(): Promise<Snapshot | undefined> {
    const { about, packed } = await this.#read();
    const { position, epoch } = about;
    if (position === undefined) return undefined;
    checkFormat(about);
    const entries = new Map<string, Uint8Array>();
    const hashes: string[] = [];
    for (const [key, value] of packed) {
      const entry = unpack(key, value);
      entries.set(key, entry);
      hashes.push(entryHash(key, entry));
    }
    const checksum = combine(emptyChecksum, ...hashes);
    if (checksum !== about["checksum"])
      throw new StateError("STATE_DAMAGED", `the snapshot's checksum is ${checksum}, it says ${about["checksum"]}`);
    return { position: Number(position), entries, ...(epoch !== undefined && epoch !== "" && { epoch }) };
  }

  async claim(): Promise<{ readonly stored: ReadonlyMap<string, string> } | undefined> {
    const taken = await this.#link.use((redis) => redis.eval(claimScript, 1, keys.writer, this.#token, this.#lockMs));
    if (taken !== 1) return undefined;
    const { about, packed } = await this.#read();
    const isReadable = (about["format"] ?? format) === format;
    this.#hashes = new Map([...packed].map(([key, value]) => [key, isReadable ? hashOf(key, value) : unreadable]));
    this.#checksum = { said: about["checksum"] ?? "", found: combine(emptyChecksum, ...this.#hashes.values()) };
    return { stored: new Map(this.#hashes) };
  }

  async write({ entries, position, epoch = "" }: SnapshotChange): Promise<boolean> {
    const puts: (string | Buffer)[] = [];
    const gone: string[] = [];
    const replaced: string[] = [];
    const hashes = new Map<string, string>();
    // The first snapshot of a large mesh is much to pack, and streams are served meanwhile.
    const breather = new Breather();
    for (const [key, value] of entries) {
      if (breather.isDue) await breather.rest();
      const before = this.#hashes.get(key);
      if (before !== undefined) replaced.push(before);
      if (value === undefined) gone.push(key);
      else {
        puts.push(key, packEntry(value));
        hashes.set(key, entryHash(key, value));
      }
    }
    const checksum = combine(this.#checksum.found, ...replaced, ...hashes.values());
    const about = { format, position: String(position), epoch, checksum };
    const head = [this.#token, this.#lockMs, this.#checksum.said, puts.length / 2];
    const args = [...head, ...puts, gone.length, ...gone, ...Object.entries(about).flat()];
    const written = await this.#link.use((redis) =>
      redis.eval(writeScript, 3, keys.writer, keys.entries, keys.about, ...args),
    );
    if (written !== 1) return false;
    for (const key of gone) this.#hashes.delete(key);
    for (const [key, hash] of hashes) this.#hashes.set(key, hash);
    this.#checksum = { said: checksum, found: checksum };
    return true;
  }

  putReplica(id: string, report: ReplicaReport, ttlMs: number): Promise<number> {
    return this.#reports.put(id, report, ttlMs);
  }

  removeReplica(id: string): Promise<void> {
    return this.#reports.remove(id);
  }

  replicas(): Promise<ReadonlyMap<string, unknown>> {
    return this.#reports.summaries();
  }

  replicaParts(): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
    return this.#reports.parts();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Another replica may write at once, instead of waiting for the lock to expire.
    await this.#link.close((redis) => redis.eval(releaseScript, 1, keys.writer, this.#token));
  }

  /** In one step, for a writer may be at work. */
  async #read(): Promise<{
    readonly about: Readonly<Record<string, string>>;
    readonly packed: ReadonlyMap<string, Buffer>;
  }> {
    const results = await this.#link.use((redis) =>
      redis.multi().hgetall(keys.about).hgetallBuffer(keys.entries).exec(),
    );
    const [about, packed] = (results ?? []).map(([error, value]) => {
      if (error !== null) throw error;
      return value;
    });
    return {
      about: (about ?? {}) as Readonly<Record<string, string>>,
      packed: new Map(Object.entries((packed ?? {}) as Readonly<Record<string, Buffer>>)),
    };
  }
}

function checkFormat(about: Readonly<Record<string, string>>): void {
  if (about["format"] === format) return;
  throw new StateError("STATE_FORMAT", `the snapshot has form ${about["format"]}, this version reads form ${format}`);
}

function unpack(key: string, value: Buffer): Uint8Array {
  try {
    return unpackEntry(value);
  } catch (cause) {
    throw new StateError("STATE_DAMAGED", `the snapshot's entry ${key} cannot be read`, { cause });
  }
}

function hashOf(key: string, value: Buffer): string {
  try {
    return entryHash(key, unpackEntry(value));
  } catch {
    // Told by `load`; here it only has to be replaced.
    return unreadable;
  }
}
