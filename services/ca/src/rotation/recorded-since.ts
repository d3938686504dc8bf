/** Since when the ledger has every certificate that was issued. */
import type { KeyValue } from "@flotilla/bus";

const key = "recorded-since";
/** A root that is younger than this when the first ledger is begun has issued nothing that the ledger missed. */
const youngMs = 600_000;

/** Undefined: since the root was made. Told by the first replica that asks, and equal for all. */
export async function readRecordedSince(
  values: KeyValue,
  rootNotBeforeMs: number,
  nowMs: number,
): Promise<number | undefined> {
  const mine = nowMs - rootNotBeforeMs < youngMs ? 0 : nowMs;
  await values.update(key, new TextEncoder().encode(String(mine)), 0);
  const found = await values.get(key);
  const sinceMs = Number(new TextDecoder().decode(found?.value ?? new Uint8Array()));
  return sinceMs > 0 ? sinceMs : undefined;
}
