/**
 * Objects in the bus's shared values, written in transactions by whichever replica is first. One value, the head, holds the last
 * transaction: replacing it is the moment in which all of it becomes true. Then its objects are written one by one under keys of
 * their own; should the writer end before that is done, whoever writes next does it before replacing the head.
 */
import { randomUUID } from "node:crypto";
import type { KeyValue, KeyValueEntry, Seal } from "@flotilla/bus";
import { type Config, type ConfigKey, configKeyText, equalJson, StoreError } from "@flotilla/model";
import { delay, type Logger } from "@flotilla/runtime";
import { ConfigTable } from "../config-table.ts";
import { decodeValue, encodeValue, type StoredObject, type Transaction } from "./transaction.ts";

export interface CommitLogOptions {
  readonly values: KeyValue;
  readonly seal: Seal | undefined;
  readonly maxBytes: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export interface Edit {
  readonly puts: readonly Config[];
  readonly deletes: readonly ConfigKey[];
}

const head = "head";
const objectPrefix = "object/";
/** How often a writer begins again because another replica was faster. */
const maxAttempts = 100;

export class CommitLog {
  readonly #options: CommitLogOptions;
  readonly #listeners = new Set<(transaction: Transaction) => void>();
  /** Of each object's own value, as far as known here. */
  readonly #revisions = new Map<string, number>();
  #table = new ConfigTable();
  #headRevision = 0;
  #version = 0;
  /** Not yet known to be written to its objects' own keys. */
  #unwritten: Transaction | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: CommitLogOptions) {
    this.#options = options;
  }

  /** As of the last transaction that was heard of. */
  get table(): ConfigTable {
    return this.#table;
  }

  get version(): number {
    return this.#version;
  }

  /** Told of each transaction, ours and others', after the table shows it. Returns a function that ends that. */
  onCommit(listener: (transaction: Transaction) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads what is stored. @throws StoreError STORE_AWAY */
  load(): Promise<void> {
    return this.#inTurn(() => this.#load());
  }

  /**
   * Makes what `edit` returns true at once, or nothing of it; `edit` is asked again when another replica was faster, and whatever
   * it throws is thrown. Without changes nothing is written. @throws StoreError STORE_AWAY, STORE_TOO_LARGE, STORE_CONFLICT
   */
  commit(edit: () => Edit): Promise<void> {
    return this.#inTurn(() => this.#commit(edit));
  }

  /** Hears what other replicas write. Runs until `stop`. */
  async follow(stop: AbortSignal): Promise<void> {
    for await (const entry of this.#options.values.watch(stop)) {
      if (entry.key !== head || entry.value === undefined) continue;
      try {
        await this.#inTurn(() => this.#hear(entry));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#options.log.warn("what was stored cannot be read, what is known stays", { error });
      }
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #commit(edit: () => Edit): Promise<void> {
    const { nowMs, random } = this.#options;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await this.#writeOut();
      const { puts, deletes } = edit();
      if (puts.length === 0 && deletes.length === 0) return;
      const transaction = { version: this.#version + 1, id: randomUUID(), timeMs: nowMs(), puts, deletes };
      if (await this.#replaceHead(transaction)) {
        this.#apply(transaction);
        await this.#writeOut().catch((error: unknown) => this.#options.log.warn("written out later", { error }));
        return;
      }
      await delay(random() * Math.min(attempt, 20));
      await this.#catchUp();
    }
    throw new StoreError("STORE_CONFLICT", undefined, "others wrote faster, try again");
  }

  /** False: another replica was faster. */
  async #replaceHead(transaction: Transaction): Promise<boolean> {
    const { values } = this.#options;
    const bytes = this.#encode(transaction, head);
    try {
      const revision = await values.update(head, bytes, this.#headRevision);
      if (revision === undefined) return await this.#stands(transaction);
      this.#headRevision = revision;
      return true;
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      if (await this.#stands(transaction, cause)) return true;
      throw new StoreError("STORE_AWAY", undefined, "the bus did not take it, nothing is stored", { cause });
    }
  }

  /** Is it our own that is there? Then it was stored although the answer was lost, or at a first attempt of the bus client. */
  async #stands({ id }: Transaction, failure?: unknown): Promise<boolean> {
    const found = await away(() => this.#options.values.get(head), failure);
    if (found?.value === undefined || this.#decode<Transaction>(found.value, head).id !== id) return false;
    this.#headRevision = found.revision;
    return true;
  }

  /** The head that is there now is not the one we know. */
  async #catchUp(): Promise<void> {
    const entry = await away(() => this.#options.values.get(head));
    if (entry?.value === undefined) {
      if (this.#version > 0) await this.#restore();
      return;
    }
    const { version } = this.#decode<Transaction>(entry.value, head);
    // Older than ours: the values were lost, and another replica that knew less has stored what it knew.
    if (version <= this.#version && entry.revision !== this.#headRevision) await this.#load();
    else await this.#hear(entry);
  }

  /** Takes over a head that may be ours, or an old one. */
  async #hear(entry: KeyValueEntry): Promise<void> {
    if (entry.revision === this.#headRevision || entry.value === undefined) return;
    const transaction = this.#decode<Transaction>(entry.value, head);
    if (transaction.version <= this.#version) return;
    if (transaction.version > this.#version + 1) return this.#load();
    this.#headRevision = entry.revision;
    this.#apply(transaction);
  }

  #apply(transaction: Transaction): void {
    for (const config of transaction.puts) this.#table.put(config);
    for (const key of transaction.deletes) this.#table.delete(key);
    this.#version = transaction.version;
    this.#unwritten = transaction;
    for (const listener of this.#listeners) listener(transaction);
  }

  /** The values were lost with their server: what we hold is all there is of them. */
  async #restore(): Promise<void> {
    this.#options.log.warn("the stored objects were lost, they are stored again", { version: this.#version });
    this.#revisions.clear();
    this.#headRevision = 0;
    const puts = allOf(this.#table);
    this.#unwritten = { version: this.#version, id: randomUUID(), timeMs: this.#options.nowMs(), puts, deletes: [] };
    await this.#writeOut();
  }

  /** Gives the objects of the last transaction values of their own; one that is newer there is left. @throws StoreError STORE_AWAY */
  async #writeOut(): Promise<void> {
    const transaction = this.#unwritten;
    if (transaction === undefined) return;
    const { version, puts, deletes } = transaction;
    await Promise.all([
      ...puts.map((config) => this.#writeObject({ version, key: config.key, config })),
      ...deletes.map((key) => this.#writeObject({ version, key })),
    ]);
    this.#unwritten = undefined;
  }

  async #writeObject(object: StoredObject): Promise<void> {
    const { values } = this.#options;
    const place = `${objectPrefix}${configKeyText(object.key)}`;
    const bytes = this.#encode(object, place);
    for (;;) {
      const revision = await away(() => values.update(place, bytes, this.#revisions.get(place) ?? 0));
      if (revision !== undefined) {
        this.#revisions.set(place, revision);
        return;
      }
      const found = await away(() => values.get(place));
      this.#revisions.set(place, found?.revision ?? 0);
      if (found?.value !== undefined && this.#decode<StoredObject>(found.value, place).version >= object.version)
        return;
    }
  }

  /** Everything, as of the head; what differs from what was known is told as one transaction. */
  async #load(): Promise<void> {
    const { values } = this.#options;
    for (;;) {
      const entries = await away(() => values.entries());
      const last = entries.find(({ key }) => key === head);
      const transaction = last?.value === undefined ? undefined : this.#decode<Transaction>(last.value, head);
      const stored = entries.filter(({ key }) => key.startsWith(objectPrefix));
      const objects = stored.flatMap(({ key, value }) =>
        value === undefined ? [] : this.#decode<StoredObject>(value, key),
      );
      const version = transaction?.version ?? Math.max(0, ...objects.map((object) => object.version));
      // Written while we read: the head that belongs to it comes with the next reading.
      if (objects.some((object) => object.version > version)) continue;
      for (const { key, revision } of stored) this.#revisions.set(key, revision);
      this.#headRevision = last?.revision ?? 0;
      this.#takeOver(objects, transaction, version);
      return;
    }
  }

  #takeOver(objects: readonly StoredObject[], transaction: Transaction | undefined, version: number): void {
    const table = new ConfigTable();
    for (const { config } of objects) if (config !== undefined) table.put(config);
    for (const config of transaction?.puts ?? []) table.put(config);
    for (const key of transaction?.deletes ?? []) table.delete(key);
    const before = this.#table;
    this.#table = table;
    this.#version = version;
    this.#unwritten = transaction;
    const puts = allOf(table).filter((config) => !equalJson(config, before.get(config.key)));
    const deletes = allOf(before).flatMap(({ key }) => (table.has(key) ? [] : [key]));
    if (puts.length + deletes.length === 0) return;
    const joined = { version, id: transaction?.id ?? "", timeMs: transaction?.timeMs ?? 0, puts, deletes };
    for (const listener of this.#listeners) listener(joined);
  }

  #encode(value: Transaction | StoredObject, place: string): Uint8Array {
    const { seal, maxBytes } = this.#options;
    try {
      const bytes = encodeValue(value, place, seal);
      if (bytes.length <= maxBytes) return bytes;
      const reason = `what is written at once has ${bytes.length} bytes packed, the bus takes ${maxBytes}`;
      throw new StoreError("STORE_TOO_LARGE", undefined, reason);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      throw new StoreError("STORE_INVALID", undefined, cause.message, { cause });
    }
  }

  #decode<T extends Transaction | StoredObject>(bytes: Uint8Array, place: string): T {
    try {
      return decodeValue<T>(bytes, place, this.#options.seal);
    } catch (cause) {
      const reason = `${place} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new StoreError("STORE_AWAY", undefined, reason, { cause });
    }
  }
}

function allOf(table: ConfigTable): readonly Config[] {
  return table.kinds().flatMap((kind) => [...table.of(kind)]);
}

/** Failures of the bus are no answer. */
async function away<T>(ask: () => Promise<T>, before?: unknown): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const doubt = before === undefined ? "" : "; whether it is stored is not known";
    throw new StoreError("STORE_AWAY", undefined, `the bus does not answer: ${reason}${doubt}`, { cause });
  }
}
