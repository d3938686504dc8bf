/** How the state of a source counts for the readiness of the service. */
import type { SourceCondition } from "../config-source.ts";

export interface ReadinessPolicy {
  /** The service is not ready before the source has told all it was asked for. */
  readonly isRequired: boolean;
  /** A required source that is away for longer makes the service not ready; undefined: never. */
  readonly maxAgeMs: number | undefined;
}

/** Whether a source has told all it was asked for, and if it is away since when and why. */
export interface McpState {
  readonly isSynced: boolean;
  readonly away: { readonly sinceMs: number; readonly reason: string } | undefined;
}

/** Undefined: nothing is to be said. */
export function conditionOf(
  { isSynced, away }: McpState,
  { isRequired, maxAgeMs }: ReadinessPolicy,
  nowMs: number,
): SourceCondition | undefined {
  if (away === undefined) return isSynced ? undefined : { detail: "has not told everything yet", blocks: isRequired };
  const isTooOld = maxAgeMs !== undefined && nowMs - away.sinceMs > maxAgeMs;
  return { detail: `is away: ${away.reason}`, blocks: isRequired && (!isSynced || isTooOld) };
}
