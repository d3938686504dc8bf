/**
 * The last generations, in a bucket that all replicas share: as many places as records are kept, each written anew when its
 * turn comes round, so that nothing has to be cleared away. A place is written only by who has seen what stood there: of
 * replicas that keep the same generation one succeeds, and the others find it done. A bucket that went back, for its server lost
 * writes, is noticed: numbers continue after the last known one, and records before the gap are not read any more.
 */
import { type KeyValue, readValue } from "@flotilla/bus";
import { Turns } from "@flotilla/runtime";
import { decodeRecord, encodeRecord, type LedgerChange, type LedgerRecord } from "./ledger-record.ts";

/** A record without its content. */
export interface RecordSummary
  extends Pick<LedgerRecord, "number" | "epoch" | "position" | "part" | "parts" | "cause"> {
  readonly objects: readonly { readonly object: string; readonly op: LedgerChange["op"] }[];
}

interface Place {
  readonly revision: number;
  readonly summary: RecordSummary | undefined;
}

export interface LedgerRingOptions {
  readonly values: KeyValue;
  /** How many records are kept. */
  readonly size: number;
}

export class LedgerRing {
  readonly #options: LedgerRingOptions;
  readonly #places = new Map<string, Place>();
  /** Reads and writes take turns: concurrent writes must not overtake the values read. */
  readonly #turns = new Turns();
  /** The highest that was ever known here, lost or not. */
  #newest = 0;
  /** Lost ones that `compare` has not named yet. */
  #lost: number[] = [];
  /** The record being written: it comes back by the watch, and need not be read for that. */
  #own: { readonly value: Uint8Array; readonly summary: RecordSummary } | undefined;

  constructor(options: LedgerRingOptions) {
    this.#options = options;
  }

  /** Reads what is there. @throws what the bus throws */
  async load(): Promise<void> {
    const { values, size } = this.#options;
    for (const { key, value, revision } of await values.entries()) {
      // The ring was larger once.
      if (Number(key) >= size) await values.delete(key);
      else this.#note(key, value, revision);
    }
  }

  /** Learns what other replicas write, until `stop` fires. */
  async watch(stop: AbortSignal): Promise<void> {
    for await (const { key, value, revision } of this.#options.values.watch(stop)) this.#note(key, value, revision);
  }

  /** Oldest first, without a gap: none when the newest one was lost. */
  summaries(): readonly RecordSummary[] {
    const found = [...this.#places.values()]
      .flatMap(({ summary }) => summary ?? [])
      .sort((a, b) => b.number - a.number);
    return found.filter(({ number }, at) => number === this.#newest - at).reverse();
  }

  get last(): RecordSummary | undefined {
    let last: RecordSummary | undefined;
    for (const { summary } of this.#places.values())
      if (summary !== undefined && summary.number > (last?.number ?? 0)) last = summary;
    return last;
  }

  /** Undefined when its place was written anew meanwhile. @throws what the bus throws */
  async read({ number }: Pick<RecordSummary, "number">): Promise<LedgerRecord | undefined> {
    const { values } = this.#options;
    const record = readValue(values, await values.get(this.#placeOf(number)), decodeRecord);
    return record?.number === number ? record : undefined;
  }

  /** Adds a record after the last one. False: something else stands there than was known, and is known now. */
  append(record: Omit<LedgerRecord, "number">): Promise<boolean> {
    return this.#turns.take(() => this.#append(record));
  }

  /** Names the records that were known and are not stored any more, each once. @throws what the bus throws */
  async compare(): Promise<readonly string[]> {
    await this.#turns.take(() => this.#compare());
    const lost = this.#lost.sort((a, b) => a - b);
    this.#lost = [];
    return lost.map((number) => `record ${number}`);
  }

  async #append(record: Omit<LedgerRecord, "number">): Promise<boolean> {
    const { values } = this.#options;
    const number = this.#newest + 1;
    const key = this.#placeOf(number);
    const value = encodeRecord({ ...record, number });
    this.#own = { value, summary: summaryOf({ ...record, number }) };
    const known = this.#places.get(key)?.revision ?? 0;
    const revision = await values.update(key, value, known);
    if (revision !== undefined) {
      this.#note(key, value, revision);
      return true;
    }
    const found = await values.get(key);
    if (found !== undefined && found.revision > known) this.#note(key, found.value, found.revision);
    else await this.#compare();
    return false;
  }

  async #compare(): Promise<void> {
    const before = new Map(this.#places);
    const stored = new Map((await this.#options.values.entries()).map((entry) => [entry.key, entry]));
    for (const [key, place] of before) {
      const entry = stored.get(key);
      const summary = entry?.value && this.#summaryIn(key, entry.value);
      const isLost = place.summary !== undefined && !isKeptBy(place.summary, summary);
      if (isLost) this.#lost.push(place.summary.number);
      // A bucket that was made anew counts from 1: what stands there can be replaced by the revision that it has there only.
      const isOutdated = isLost || (entry?.revision ?? 0) < place.revision;
      // Entries that the watch delivered meanwhile are newer than the ones read.
      if (!isOutdated || this.#places.get(key) !== place) continue;
      if (entry === undefined) this.#places.delete(key);
      else this.#places.set(key, { revision: entry.revision, summary });
    }
  }

  #placeOf(number: number): string {
    return String(number % this.#options.size);
  }

  #note(key: string, value: Uint8Array | undefined, revision: number): void {
    if ((this.#places.get(key)?.revision ?? 0) >= revision) return;
    const summary = value && this.#summaryIn(key, value);
    this.#places.set(key, { revision, summary });
    this.#newest = Math.max(this.#newest, summary?.number ?? 0);
  }

  #summaryIn(key: string, value: Uint8Array): RecordSummary | undefined {
    if (this.#own !== undefined && Buffer.compare(this.#own.value, value) === 0) return this.#own.summary;
    const record = readValue(this.#options.values, { key, value }, decodeRecord);
    return record && summaryOf(record);
  }
}

/** The same record stands there, or one that came after it when its turn came round. */
function isKeptBy(known: RecordSummary, stored: RecordSummary | undefined): boolean {
  if (stored === undefined || stored.number < known.number) return false;
  if (stored.number > known.number) return true;
  return stored.epoch === known.epoch && stored.position === known.position && stored.part === known.part;
}

function summaryOf({ changes, ...record }: LedgerRecord): RecordSummary {
  const { number, epoch, position, part, parts, cause } = record;
  const objects = changes.map(({ key, op }) => ({ object: `${key.kind}/${key.namespace}/${key.name}`, op }));
  return { number, epoch, position, part, parts, cause, objects };
}
