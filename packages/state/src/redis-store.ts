/** The store in Redis: one hash of entries, one of what is said about them, a lock with a limited life. */
import { randomUUID } from "node:crypto";
import type { Logger } from "@flotilla/runtime";
import { Redis } from "ioredis";
import { combine, emptyChecksum, entryHash, packEntry, unpackEntry } from "./entry-codec.ts";
import { StateError } from "./errors.ts";
import type { Snapshot, SnapshotChange, SnapshotStore, StoreState } from "./snapshot-store.ts";

const prefix = "flotilla:v1";
const keys = {
  entries: `${prefix}:snapshot:entries`,
  about: `${prefix}:snapshot:about`,
  writer: `${prefix}:snapshot:writer`,
  replica: (id: string) => `${prefix}:replica:${id}`,
};
/** Changes with the form of the entries; others are refused by name. */
const format = "1";
const lockMs = 10_000;

/**
 * Writes only while the lock is ours. KEYS: lock, entries, about. ARGV: token, life, number of puts,
 * then key and value of each, number of removals, then their keys, then pairs of what is said.
 */
const writeScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local at = 3
local puts = tonumber(ARGV[at]); at = at + 1
for i = 1, puts do redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1]); at = at + 2 end
local gone = tonumber(ARGV[at]); at = at + 1
for i = 1, gone do redis.call('HDEL', KEYS[2], ARGV[at]); at = at + 1 end
while at < #ARGV do redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]); at = at + 2 end
return 1
`;

export function openRedis(url: string, log: Logger): SnapshotStore {
  return new RedisStore(url, log);
}

class RedisStore implements SnapshotStore {
  readonly #redis: Redis;
  readonly #token = randomUUID();
  readonly #listeners = new Set<(state: StoreState) => void>();
  /** Hash of each stored entry, while we are the writer. */
  #hashes = new Map<string, string>();
  #checksum = emptyChecksum;
  #state: StoreState = { connected: false, reason: "connecting" };

  constructor(url: string, log: Logger) {
    // Commands fail while Redis is away, instead of piling up: whoever calls tries again with what holds then.
    this.#redis = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      lazyConnect: false,
      retryStrategy: (times) => Math.min(50 * times, 1_000),
    });
    this.#redis.on("ready", () => this.#setState({ connected: true }, log));
    this.#redis.on("error", (error: Error) => this.#setState({ connected: false, reason: error.message }, log));
    this.#redis.on("close", () => this.#setState({ connected: false, reason: "connection closed" }, log));
  }

  get state(): StoreState {
    return this.#state;
  }

  onState(listener: (state: StoreState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async load(): Promise<Snapshot | undefined> {
    const about = await this.#redis.hgetall(keys.about);
    if (about["position"] === undefined) return undefined;
    checkFormat(about);
    const packed = await this.#redis.hgetallBuffer(keys.entries);
    const entries = new Map<string, Uint8Array>();
    let checksum = emptyChecksum;
    for (const [key, value] of Object.entries(packed)) {
      const entry = unpack(key, value);
      entries.set(key, entry);
      checksum = combine(checksum, entryHash(key, entry));
    }
    if (checksum !== about["checksum"])
      throw new StateError("STATE_DAMAGED", `the snapshot's checksum is ${checksum}, it says ${about["checksum"]}`);
    return { position: Number(about["position"]), entries };
  }

  async claim(): Promise<{ readonly stored: ReadonlyMap<string, string> } | undefined> {
    const taken = await this.#redis.set(keys.writer, this.#token, "PX", lockMs, "NX");
    const isOurs = taken === "OK" || (await this.#redis.get(keys.writer)) === this.#token;
    if (!isOurs) return undefined;
    const about = await this.#redis.hgetall(keys.about);
    const packed = await this.#redis.hgetallBuffer(keys.entries);
    this.#hashes = new Map();
    for (const [key, value] of Object.entries(packed))
      this.#hashes.set(key, hashOrDamaged(key, value, about["format"] ?? format));
    this.#checksum = combine(emptyChecksum, ...this.#hashes.values());
    return { stored: new Map(this.#hashes) };
  }

  async write({ entries, position }: SnapshotChange): Promise<boolean> {
    const puts: (string | Buffer)[] = [];
    const gone: string[] = [];
    const hashes = new Map(this.#hashes);
    for (const [key, value] of entries) {
      if (value === undefined) {
        gone.push(key);
        hashes.delete(key);
      } else {
        puts.push(key, packEntry(value));
        hashes.set(key, entryHash(key, value));
      }
    }
    const changed = [...entries.keys()];
    const before = changed.flatMap((key) => this.#hashes.get(key) ?? []);
    const after = changed.flatMap((key) => hashes.get(key) ?? []);
    const checksum = combine(this.#checksum, ...before, ...after);
    const about = ["format", format, "position", String(position), "checksum", checksum];
    const args = [
      this.#token,
      String(lockMs),
      String(puts.length / 2),
      ...puts,
      String(gone.length),
      ...gone,
      ...about,
    ];
    const written = await this.#redis.eval(writeScript, 3, keys.writer, keys.entries, keys.about, ...args);
    if (written !== 1) return false;
    [this.#hashes, this.#checksum] = [hashes, checksum];
    return true;
  }

  async putReplica(id: string, record: unknown, ttlMs: number): Promise<void> {
    await this.#redis.set(keys.replica(id), JSON.stringify(record), "PX", ttlMs);
  }

  async replicas(): Promise<ReadonlyMap<string, unknown>> {
    const found: string[] = [];
    let cursor = "0";
    do {
      const [next, some] = await this.#redis.scan(cursor, "MATCH", keys.replica("*"), "COUNT", 100);
      found.push(...some);
      cursor = next;
    } while (cursor !== "0");
    const records = new Map<string, unknown>();
    for (const key of found.sort()) {
      const text = await this.#redis.get(key);
      if (text !== null) records.set(key.slice(keys.replica("").length), JSON.parse(text));
    }
    return records;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state.connected) {
      // Another replica may write at once, instead of waiting for the lock to expire.
      const release = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
      await this.#redis.eval(release, 1, keys.writer, this.#token);
    }
    this.#redis.disconnect();
  }

  #setState(state: StoreState, log: Logger): void {
    const changed = state.connected !== this.#state.connected;
    this.#state = state;
    if (!changed) return;
    if (state.connected) log.info("redis is there");
    else log.warn("redis is away", { reason: state.reason });
    for (const listener of [...this.#listeners]) listener(state);
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

/** What cannot be read has a hash that no entry has: it is written anew. */
function hashOrDamaged(key: string, value: Buffer, storedFormat: string): string {
  if (storedFormat !== format) return "f".repeat(32);
  try {
    return entryHash(key, unpackEntry(value));
  } catch {
    return "f".repeat(32);
  }
}
