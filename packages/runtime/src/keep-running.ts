/** Work beside serving that needs a server of others: what that server does never ends the service. */
import type { Logger } from "./logger.ts";
import { backoff, delay } from "./wait.ts";

export interface KeepRunningOptions {
  /** For the log: "trust reports". */
  readonly what: string;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  readonly firstMs?: number;
  readonly maxMs?: number;
}

/**
 * Runs `work` until it ends by itself or `stop` fires, and begins it again with back-off when it fails; the same failure is logged once.
 * @throws what `work` throws when it is a mistake in the code (TypeError, ReferenceError)
 */
export async function keepRunning(
  work: () => Promise<void>,
  { what, log, random, firstMs = 500, maxMs = 10_000 }: KeepRunningOptions,
  stop: AbortSignal,
): Promise<void> {
  let last = "";
  for (const waitMs of backoff({ firstMs, maxMs, random })) {
    try {
      await work();
      return;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (stop.aborted) {
        log.debug("background work ended", { what, reason });
        return;
      }
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      if (reason !== last) log.warn("background work failed, trying again", { what, error });
      last = reason;
    }
    await delay(waitMs, stop);
    if (stop.aborted) return;
  }
}
