/** Reads everything that is stored: the head with the last transaction, and the objects that it belongs to. */
import type { KeyValue } from "@flotilla/bus";
import { delay } from "@flotilla/runtime";
import { type HeadValue, headKey } from "./head-value.ts";
import { away, type ObjectValues } from "./object-values.ts";
import type { StoredObject, Transaction } from "./transaction.ts";

export interface StoredReading {
  /** Revision of the head. */
  readonly revision: number;
  /** Undefined without a readable head; then the objects written one by one are all there is. */
  readonly transaction: Transaction | undefined;
  readonly objects: readonly StoredObject[];
  /** The version of the head, or of the newest object. */
  readonly newest: number;
}

const maxReadings = 20;
const readingMs = 50;

/** As it is at this moment; a writer may be between the head and its objects. @throws StoreError STORE_AWAY */
export async function readOnce(values: KeyValue, head: HeadValue, stored: ObjectValues): Promise<StoredReading> {
  const entries = await away(() => values.entries());
  const last = entries.find(({ key }) => key === headKey);
  const transaction = await head.decodeYielding(last);
  const objects = await stored.read(entries);
  const newest = Math.max(transaction?.version ?? 0, ...objects.map((object) => object.version));
  return { revision: last?.revision ?? 0, transaction, objects, newest };
}

/** The head with its objects. @throws StoreError STORE_AWAY */
export async function readStored(values: KeyValue, head: HeadValue, stored: ObjectValues): Promise<StoredReading> {
  for (let attempt = 1; ; attempt++) {
    const reading = await readOnce(values, head, stored);
    const { newest, transaction } = reading;
    // Written during this read: its head follows with the next one, or never if values were lost.
    if (newest <= (transaction?.version ?? newest) || attempt === maxReadings) return reading;
    await delay(readingMs);
  }
}
