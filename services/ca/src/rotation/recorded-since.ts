/** Since when the ledger has every certificate that was issued. */
import { type KeyValue, readValue } from "@flotilla/bus";

const key = "recorded-since";
/** A root that is younger than this when the first ledger is begun has issued nothing that the ledger missed. */
const youngMs = 600_000;

export interface RecordedSinceOptions {
  readonly rootNotBeforeMs: number;
  readonly nowMs: number;
  /** From a replica's disk, where the bus may have lost it. */
  readonly knownMs: number | undefined;
}

/** Undefined: since the root was made. Reported by the first replica that asks, and equal for all. */
export async function readRecordedSince(
  values: KeyValue,
  { rootNotBeforeMs, nowMs, knownMs }: RecordedSinceOptions,
): Promise<number | undefined> {
  const mine = knownMs ?? (nowMs - rootNotBeforeMs < youngMs ? 0 : nowMs);
  await values.update(key, new TextEncoder().encode(String(mine)), 0);
  const found = await values.get(key);
  // Of a value that cannot be read the careful meaning holds: nothing from before now is recorded.
  const sinceMs = readValue(values, found, decode) ?? nowMs;
  return sinceMs > 0 ? sinceMs : undefined;
}

/** @throws RangeError */
function decode(value: Uint8Array): number {
  const text = new TextDecoder().decode(value);
  if (/^\d{1,16}$/.test(text)) return Number(text);
  throw new RangeError(`"${text.slice(0, 40)}" is no moment`);
}
