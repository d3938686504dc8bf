/** The store in Redis: one hash of entries, one of what is said about them, a lock with a limited life. */
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { combine, emptyChecksum, entryHash, packEntry, unpackEntry } from "./entry-codec.ts";
import { StateError } from "./errors.ts";
import { RedisLink, type RedisLinkOptions } from "./redis-link.ts";
import type { ReplicaReport, Snapshot, SnapshotChange, SnapshotStore, StoreState } from "./snapshot-store.ts";

export interface RedisStoreOptions extends RedisLinkOptions {
  readonly lockMs: number;
}

const prefix = "flotilla:v1";
const keys = {
  entries: `${prefix}:snapshot:entries`,
  about: `${prefix}:snapshot:about`,
  writer: `${prefix}:snapshot:writer`,
  replica: (id: string) => `${prefix}:replica:${id}`,
  parts: (id: string) => `${prefix}:replica-parts:${id}`,
};
/** Changes with the form of the entries; others are refused by name. */
const format = "1";
/** How long packing may keep the event loop. */
const sliceMs = 8;
/** A hash that no entry has: what cannot be read is written anew. */
const unreadable = "f".repeat(32);

/**
 * Writes only while the lock is ours and the snapshot is as we left it: a server that was killed may have
 * come back with less. KEYS: lock, entries, about. ARGV: token, life, checksum before, number of puts,
 * then key and value of each, number of removals, then their keys, then pairs of what is said.
 */
const writeScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[3], 'checksum') or '') ~= ARGV[3] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local at = 4
local puts = tonumber(ARGV[at]); at = at + 1
for i = 1, puts do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]); at = at + 2 end
local gone = tonumber(ARGV[at]); at = at + 1
for i = 1, gone do redis.call('HDEL', KEYS[2], ARGV[at]); at = at + 1 end
redis.call('DEL', KEYS[3])
while at < #ARGV do redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]); at = at + 2 end
return 1
`;

const claimScript = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
`;

export function openRedis(options: RedisStoreOptions): SnapshotStore {
  return new RedisStore(options);
}

class RedisStore implements SnapshotStore {
  readonly #link: RedisLink;
  readonly #lockMs: number;
  readonly #token = randomUUID();
  /** Hash of each stored entry, while we are the writer. */
  #hashes = new Map<string, string>();
  /** What the store says, and what its entries have: they differ when it is damaged. */
  #checksum = { said: "", found: emptyChecksum };

  constructor(options: RedisStoreOptions) {
    this.#link = new RedisLink(options);
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
    let breatheAt = performance.now() + sliceMs;
    for (const [key, value] of entries) {
      // The first snapshot of a large mesh is much to pack, and streams are served meanwhile.
      if (performance.now() > breatheAt) {
        await setImmediate();
        breatheAt = performance.now() + sliceMs;
      }
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

  async putReplica(id: string, { summary, parts, isWhole }: ReplicaReport, ttlMs: number): Promise<number> {
    const key = keys.parts(id);
    const put = [...parts].filter(([, part]) => part !== undefined);
    const gone = [...parts.keys()].filter((name) => parts.get(name) === undefined);
    const results = await this.#link.use((redis) => {
      const steps = redis.multi().set(keys.replica(id), JSON.stringify(summary), "PX", ttlMs);
      if (isWhole) steps.del(key);
      if (gone.length > 0) steps.hdel(key, ...gone);
      if (put.length > 0) steps.hset(key, ...put.flatMap(([name, part]) => [name, JSON.stringify(part)]));
      return steps.pexpire(key, ttlMs).hlen(key).exec();
    });
    return Number(results?.at(-1)?.[1] ?? 0);
  }

  async replicas(): Promise<ReadonlyMap<string, unknown>> {
    const found = await this.#replicaIds();
    if (found.length === 0) return new Map();
    const texts = await this.#link.use((redis) => redis.mget(...found.map(keys.replica)));
    return new Map(
      found.flatMap((id, i): readonly (readonly [string, unknown])[] => {
        const text = texts[i] ?? undefined;
        return text === undefined ? [] : [[id, JSON.parse(text)]];
      }),
    );
  }

  async replicaParts(): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
    const all = new Map<string, ReadonlyMap<string, unknown>>();
    for (const id of await this.#replicaIds()) {
      const parts = await this.#link.use((redis) => redis.hgetall(keys.parts(id)));
      all.set(id, new Map(Object.entries(parts).map(([name, text]) => [name, JSON.parse(text)])));
    }
    return all;
  }

  async #replicaIds(): Promise<readonly string[]> {
    const found = await this.#link.keysLike(keys.replica("*"));
    return found.map((key) => key.slice(keys.replica("").length)).toSorted();
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
