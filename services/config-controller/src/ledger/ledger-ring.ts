/**
 * The last generations, in a bucket that all replicas share: as many places as records are kept, each written anew when its
 * turn comes round, so that nothing has to be cleared away. A place is written only by who has seen what stood there: of
 * replicas that keep the same generation one succeeds, and the others find it done.
 */
import { type KeyValue, readValue } from "@flotilla/bus";
import { decodeRecord, encodeRecord, type LedgerChange, type LedgerRecord } from "./ledger-record.ts";

/** What is known of a record without its content. */
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
  /** What is being written: it comes back by the watch, and need not be read for that. */
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

  /** Oldest first, without a gap. */
  summaries(): readonly RecordSummary[] {
    const found = [...this.#places.values()]
      .flatMap(({ summary }) => summary ?? [])
      .sort((a, b) => b.number - a.number);
    const newest = found[0]?.number ?? 0;
    return found.filter(({ number }, at) => number === newest - at).reverse();
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

  /** Adds a record after the last one. False: another replica has written there, and what it wrote is known now. */
  async append(record: Omit<LedgerRecord, "number">): Promise<boolean> {
    const { values } = this.#options;
    const number = (this.last?.number ?? 0) + 1;
    const key = this.#placeOf(number);
    const value = encodeRecord({ ...record, number });
    this.#own = { value, summary: summaryOf({ ...record, number }) };
    const revision = await values.update(key, value, this.#places.get(key)?.revision ?? 0);
    if (revision !== undefined) {
      this.#note(key, value, revision);
      return true;
    }
    const found = await values.get(key);
    if (found !== undefined) this.#note(key, found.value, found.revision);
    return false;
  }

  #placeOf(number: number): string {
    return String(number % this.#options.size);
  }

  #note(key: string, value: Uint8Array | undefined, revision: number): void {
    if ((this.#places.get(key)?.revision ?? 0) >= revision) return;
    this.#places.set(key, { revision, summary: value && this.#summaryIn(key, value) });
  }

  #summaryIn(key: string, value: Uint8Array): RecordSummary | undefined {
    if (this.#own !== undefined && Buffer.compare(this.#own.value, value) === 0) return this.#own.summary;
    const record = readValue(this.#options.values, { key, value }, decodeRecord);
    return record && summaryOf(record);
  }
}

function summaryOf({ changes, ...record }: LedgerRecord): RecordSummary {
  const { number, epoch, position, part, parts, cause } = record;
  const objects = changes.map(({ key, op }) => ({ object: `${key.kind}/${key.namespace}/${key.name}`, op }));
  return { number, epoch, position, part, parts, cause, objects };
}
