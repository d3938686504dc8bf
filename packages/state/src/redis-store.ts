/** The store in Redis: one hash of entries, one of their metadata, a lock with a limited life. */
import { randomUUID } from "node:crypto";
import { TimeSlice } from "@flotilla/runtime";
import { checksumOnly, entryTag, type Mac, readEntry, snapshotSum, storedTag, taggedEntry } from "./entry-codec.ts";
import { EntryTags } from "./entry-tags.ts";
import { StateError } from "./errors.ts";
import { RedisLink, type RedisLinkOptions } from "./redis-link.ts";
import { RedisReports } from "./redis-reports.ts";
import { claimScript, keys, releaseScript, writeScript } from "./redis-scripts.ts";
import type {
  Claim,
  ReplicaReport,
  Snapshot,
  SnapshotChange,
  SnapshotStore,
  StoreState,
  UnreadableValues,
} from "./snapshot-store.ts";

/** Connection, lock and authentication of the store. */
export interface RedisStoreOptions extends RedisLinkOptions {
  readonly lockMs: number;
  /** With it, values of other writers are refused; without it only damage is found. */
  readonly mac: Mac | undefined;
  readonly unreadable: UnreadableValues;
}

/** Changes with the form of the entries; others are refused by name. */
const format = "4";
/** A tag that no entry has: unreadable entries are written again. */
const unreadable = "f".repeat(32);

/** Opens the store in Redis; it connects in the background and reconnects without end. */
export function openRedis(options: RedisStoreOptions): SnapshotStore {
  return new RedisStore(options);
}

interface Stored {
  readonly about: Readonly<Record<string, string>>;
  /** Tag and content by key. */
  readonly stored: ReadonlyMap<string, Buffer>;
}

class RedisStore implements SnapshotStore {
  readonly #link: RedisLink;
  readonly #reports: RedisReports;
  readonly #options: RedisStoreOptions;
  readonly #mac: Mac;
  readonly #token = randomUUID();
  /** Of each stored entry, while we are the writer. */
  #tags = EntryTags.empty;
  /** As the store has it. */
  #sum = "";

  constructor(options: RedisStoreOptions) {
    this.#link = new RedisLink(options);
    this.#reports = new RedisReports(this.#link, options.unreadable);
    this.#options = options;
    this.#mac = options.mac ?? checksumOnly;
  }

  get state(): StoreState {
    return this.#link.state;
  }

  onState(listener: (state: StoreState) => void): () => void {
    return this.#link.onState(listener);
  }

  async load(): Promise<Snapshot | undefined> {
    const { about, stored } = await this.#read();
    const { position, epoch = "", mark = "" } = about;
    if (position === undefined) return undefined;
    checkFormat(about);
    const tags = await EntryTags.empty.with(storedTags(stored));
    if (snapshotSum(this.#mac, tags.digest, { position, epoch, mark }) !== about["checksum"])
      throw new StateError(
        "STATE_DAMAGED",
        "entries or position of the snapshot differ from those that its writer left",
      );
    if (!/^\d{1,15}$/.test(position))
      throw new StateError("STATE_DAMAGED", `the snapshot's position is "${position.slice(0, 40)}"`);
    const entries = new Map<string, Uint8Array>();
    const setAside: string[] = [];
    const timeSlice = new TimeSlice();
    for (const [key, bytes] of stored) {
      if (timeSlice.isDue) await timeSlice.yield();
      const entry = this.#entry(key, bytes);
      if (entry === undefined) setAside.push(key);
      else entries.set(key, entry);
    }
    const place = { position: Number(position), ...(epoch !== "" && { epoch }), ...(mark !== "" && { mark }) };
    return { ...place, entries, setAside };
  }

  async claim(): Promise<Claim | undefined> {
    const { lockMs } = this.#options;
    const taken = await this.#link.use((redis) => redis.eval(claimScript, 1, keys.writer, this.#token, lockMs));
    if (taken !== 1) return undefined;
    const { about, stored } = await this.#readOrClear();
    const isReadable = (about["format"] ?? format) === format;
    const tags = new Map<string, string>();
    const timeSlice = new TimeSlice();
    for (const [key, bytes] of stored) {
      if (timeSlice.isDue) await timeSlice.yield();
      // Reported by `load`; here it only has to be replaced.
      tags.set(key, isReadable && isIntact(this.#mac, key, bytes) ? storedTag(bytes) : unreadable);
    }
    this.#tags = await EntryTags.empty.with(tags);
    this.#sum = about["checksum"] ?? "";
    return { stored: tags, tagOf: (key, value) => entryTag(this.#mac, key, value) };
  }

  async write({ entries, position, epoch = "", mark = "" }: SnapshotChange): Promise<boolean> {
    const puts: (string | Buffer)[] = [];
    const gone: string[] = [];
    const written = new Map<string, string | undefined>();
    // The first snapshot of a large mesh is much to pack, and streams are served meanwhile.
    const timeSlice = new TimeSlice();
    for (const [key, value] of entries) {
      if (timeSlice.isDue) await timeSlice.yield();
      const tag = value && entryTag(this.#mac, key, value);
      written.set(key, tag);
      if (value === undefined || tag === undefined) gone.push(key);
      else puts.push(key, taggedEntry(tag, value));
    }
    const tags = await this.#tags.with(written);
    const place = { position: String(position), epoch, mark };
    const checksum = snapshotSum(this.#mac, tags.digest, place);
    const about = { format, ...place, checksum };
    const head = [this.#token, this.#options.lockMs, this.#sum, this.#tags.size, puts.length / 2];
    const args = [...head, ...puts, gone.length, ...gone, ...Object.entries(about).flat()];
    // One list: as parameters of a call, words of 60,000 entries are more than the stack holds.
    const words = [writeScript, 3, keys.writer, keys.entries, keys.about, ...args];
    const done = await this.#link.use((redis) => redis.call("EVAL", words));
    if (done !== 1) return false;
    this.#tags = tags;
    this.#sum = checksum;
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

  replicaParts(except?: string): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
    return this.#reports.parts(except);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Another replica may write at once, instead of waiting for the lock to expire.
    await this.#link.close((redis) => redis.eval(releaseScript, 1, keys.writer, this.#token));
  }

  /** Undefined: set aside by its name. */
  #entry(key: string, bytes: Buffer): Uint8Array | undefined {
    const { unreadable: values } = this.#options;
    const place = `snapshot ${key}`;
    try {
      const entry = readEntry(this.#mac, key, bytes);
      values.heal(place);
      return entry;
    } catch (error) {
      values.note(place, error);
      return undefined;
    }
  }

  /** Of the writer: a key of another type can be neither read nor written, and is removed. */
  async #readOrClear(): Promise<Stored> {
    try {
      return await this.#read();
    } catch (error) {
      if (!(error instanceof StateError) || error.code !== "STATE_DAMAGED") throw error;
      this.#options.log.warn("snapshot restarted", { error });
      await this.#link.use((redis) => redis.del(keys.entries, keys.about));
      return this.#read();
    }
  }

  /** In one step, for a writer may be at work. */
  async #read(): Promise<Stored> {
    const results = await this.#link.use((redis) =>
      redis.multi().hgetall(keys.about).hgetallBuffer(keys.entries).exec(),
    );
    const [about, stored] = (results ?? []).map(([error, value]) => {
      if (error !== null) throw new StateError("STATE_DAMAGED", "the snapshot is of another type", { cause: error });
      return value;
    });
    return {
      about: (about ?? {}) as Readonly<Record<string, string>>,
      stored: new Map(Object.entries((stored ?? {}) as Readonly<Record<string, Buffer>>)),
    };
  }
}

function checkFormat(about: Readonly<Record<string, string>>): void {
  if (about["format"] === format) return;
  throw new StateError("STATE_FORMAT", `the snapshot has form ${about["format"]}, this version reads form ${format}`);
}

function* storedTags(stored: ReadonlyMap<string, Buffer>): Iterable<readonly [string, string]> {
  for (const [key, bytes] of stored) yield [key, storedTag(bytes)];
}

function isIntact(mac: Mac, key: string, bytes: Buffer): boolean {
  try {
    readEntry(mac, key, bytes);
    return true;
  } catch {
    return false;
  }
}
