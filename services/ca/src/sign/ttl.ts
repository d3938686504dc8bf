/** How long a certificate may live. */
import { CaError } from "../errors.ts";

export interface TtlRules {
  readonly defaultTtlMs: number;
  readonly maxTtlMs: number;
}

/** @throws CaError CA_BAD_TTL above the maximum. */
export function ttlOf(requestedSeconds: bigint, { defaultTtlMs, maxTtlMs }: TtlRules): number {
  if (requestedSeconds <= 0n) return defaultTtlMs;
  if (requestedSeconds * 1000n > BigInt(Math.floor(maxTtlMs))) {
    const [asked, most] = [requestedSeconds, BigInt(Math.floor(maxTtlMs / 1000))].map(durationText);
    throw new CaError("CA_BAD_TTL", `requested TTL ${asked} is greater than the max allowed TTL ${most}`);
  }
  return Number(requestedSeconds) * 1000;
}

function durationText(seconds: bigint): string {
  return `${seconds / 3600n}h${(seconds / 60n) % 60n}m${seconds % 60n}s`;
}
