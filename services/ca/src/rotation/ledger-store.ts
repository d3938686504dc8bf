/** The ledger of all replicas, in the shared bucket: each shard one value, merged on writing. */
import { type KeyValue, type KeyValueEntry, readValue } from "@flotilla/bus";
import { type Holding, type Ledger, parseHoldings, shardCount } from "./ledger.ts";

const keyOf = (shard: number): string => `ledger/${shard}`;
const attempts = 20;

/** Writes new entries. Those that cannot be written stay to be written. @throws errors of the bus */
export async function flushLedger(ledger: Ledger, values: KeyValue, nowMs: () => number): Promise<void> {
  const shards = ledger.takeDirty();
  const results = await Promise.allSettled(shards.map((shard) => flush(ledger, shard, values, nowMs)));
  for (const [at, result] of results.entries()) {
    const shard = shards[at];
    if (result.status === "rejected" && shard !== undefined) ledger.markDirty(shard);
  }
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/**
 * Looks for entries that were written and are not stored any more: the next flush writes them again. Resolves to their number.
 * @throws what the bus throws
 */
export async function compareLedger(ledger: Ledger, values: KeyValue, nowMs: () => number): Promise<number> {
  let missing = 0;
  for (let shard = 0; shard < shardCount; shard++) {
    const stored = merge(ledger, shard, values, await values.get(keyOf(shard)));
    const count = ledger.missingIn(shard, stored ?? [], nowMs());
    if (count > 0) ledger.markDirty(shard);
    missing += count;
  }
  return missing;
}

/** Reads what other replicas wrote. @throws what the bus throws */
export async function loadLedger(ledger: Ledger, values: KeyValue): Promise<void> {
  const entries = await Promise.all(Array.from({ length: shardCount }, (_, shard) => values.get(keyOf(shard))));
  for (const [shard, entry] of entries.entries()) merge(ledger, shard, values, entry);
}

async function flush(ledger: Ledger, shard: number, values: KeyValue, nowMs: () => number): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await values.get(keyOf(shard));
    merge(ledger, shard, values, found);
    const text = new TextEncoder().encode(ledger.text(shard, nowMs()));
    if ((await values.update(keyOf(shard), text, found?.revision ?? 0)) !== undefined) return;
  }
  throw new Error(`shard ${shard} of the ledger is written by others all the time`);
}

/** A shard that cannot be read adds nothing; every replica still has what it issued itself, and writes it with its next certificate. */
function merge(
  ledger: Ledger,
  shard: number,
  values: KeyValue,
  entry: KeyValueEntry | undefined,
): readonly Holding[] | undefined {
  const holdings = readValue(values, entry, (value) => parseHoldings(new TextDecoder().decode(value)));
  if (holdings !== undefined) ledger.merge(shard, holdings);
  return holdings;
}
