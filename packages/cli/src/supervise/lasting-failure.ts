/** A process that runs and does not do its work: seen by asking it again and again, and believed once it has lasted. */
import { delay } from "@flotilla/runtime";

/** How often a run is asked, and how long it must have failed without a break, in milliseconds. */
export interface FailurePolicy {
  readonly everyMs: number;
  readonly forMs: number;
}

/** A stream that is being made or deleted fails the check of NATS for a moment. */
export const defaultFailurePolicy: FailurePolicy = { everyMs: 5_000, forMs: 15_000 };

interface Failing {
  failure?(): Promise<string | undefined>;
}

/** Resolves to the last reason once the run has failed for long enough; to undefined when it is over or cannot be asked. */
export async function lastingFailure(
  run: Failing,
  { everyMs, forMs }: FailurePolicy,
  over: AbortSignal,
): Promise<string | undefined> {
  let sinceMs: number | undefined;
  while (run.failure !== undefined && !over.aborted) {
    const failure = await run.failure();
    const nowMs = performance.now();
    if (failure === undefined) sinceMs = undefined;
    else sinceMs ??= nowMs;
    if (failure !== undefined && sinceMs !== undefined && nowMs - sinceMs >= forMs) return failure;
    await delay(everyMs, over);
  }
  return undefined;
}
