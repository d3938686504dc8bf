/** The head of the durable store: the value that holds the last transaction, and this replica's copy of it. */
import { type KeyValueEntry, readValue } from "@flotilla/bus";
import { StoreError } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { away, bounded, type ObjectValuesOptions } from "./object-values.ts";
import { decodeTransaction, encodeTransaction, type Transaction } from "./transaction.ts";

export const headKey = "head";

export class HeadValue {
  readonly #options: ObjectValuesOptions;
  /** Of the value as it was read or written here; 0 where there is none. */
  revision = 0;
  /** Of the last transaction that is known here. */
  id: string | undefined;

  constructor(options: ObjectValuesOptions) {
    this.#options = options;
  }

  /** False: another replica was faster. @throws StoreError STORE_AWAY, STORE_TOO_LARGE */
  async replace(transaction: Transaction): Promise<boolean> {
    const { values, seal, maxBytes } = this.#options;
    const bytes = bounded(maxBytes, encodeTransaction(transaction, seal));
    try {
      const revision = await values.update(headKey, bytes, this.revision);
      if (revision === undefined) return await this.#stands(transaction);
      this.revision = revision;
      return true;
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      if (await this.#stands(transaction, cause)) return true;
      throw new StoreError("STORE_AWAY", undefined, "the bus did not take it, nothing is stored", { cause });
    }
  }

  /** @throws StoreError STORE_AWAY */
  read(failure?: unknown): Promise<KeyValueEntry | undefined> {
    return away(() => this.#options.values.get(headKey), failure);
  }

  /** The stored one where it is the last transaction of this replica. @throws StoreError STORE_AWAY */
  async readOwn(): Promise<Transaction | undefined> {
    const found = await this.read();
    const transaction = found && this.decode(found);
    return transaction?.id === this.id ? transaction : undefined;
  }

  /** Undefined: set aside. The state held stays. */
  decode(entry: KeyValueEntry): Transaction | undefined {
    const { values, seal } = this.#options;
    return readValue(values, entry, (bytes) => decodeTransaction(bytes, seal));
  }

  /** As `decode`, undefined without an entry. Yields after one of megabytes: its objects take as long again. */
  async decodeYielding(entry: KeyValueEntry | undefined): Promise<Transaction | undefined> {
    const timeSlice = new TimeSlice();
    const transaction = entry && this.decode(entry);
    if (timeSlice.isDue) await timeSlice.yield();
    return transaction;
  }

  /** Is it our own that is there? Then it was stored although the answer was lost, or at a first attempt of the bus client. */
  async #stands({ id }: Transaction, failure?: unknown): Promise<boolean> {
    const found = await this.read(failure);
    if (found === undefined || this.decode(found)?.id !== id) return false;
    this.revision = found.revision;
    return true;
  }
}
