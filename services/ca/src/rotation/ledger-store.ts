/** The ledger of all replicas, in the shared bucket: each shard one value, merged on writing. */
import type { KeyValue } from "@flotilla/bus";
import { type Ledger, shardCount } from "./ledger.ts";

const keyOf = (shard: number): string => `ledger/${shard}`;
const attempts = 20;

/** Writes what is new. What cannot be written stays to be written. @throws what the bus throws */
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

/** Reads what other replicas wrote. @throws what the bus throws */
export async function loadLedger(ledger: Ledger, values: KeyValue): Promise<void> {
  const entries = await Promise.all(Array.from({ length: shardCount }, (_, shard) => values.get(keyOf(shard))));
  for (const [shard, entry] of entries.entries())
    if (entry?.value !== undefined) ledger.merge(shard, new TextDecoder().decode(entry.value));
}

async function flush(ledger: Ledger, shard: number, values: KeyValue, nowMs: () => number): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = await values.get(keyOf(shard));
    if (found?.value !== undefined) ledger.merge(shard, new TextDecoder().decode(found.value));
    const text = new TextEncoder().encode(ledger.text(shard, nowMs()));
    if ((await values.update(keyOf(shard), text, found?.revision ?? 0)) !== undefined) return;
  }
  throw new Error(`shard ${shard} of the ledger is written by others all the time`);
}
