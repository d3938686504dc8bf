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
 * The signal it gets fires with `stop`, and when the attempt has failed: what runs beside the part that failed ends.
 * @throws what `work` throws when it is a mistake in the code (TypeError, ReferenceError)
 */
export async function keepRunning(
  work: (attempt: AbortSignal) => Promise<void>,
  options: KeepRunningOptions,
  stop: AbortSignal,
): Promise<void> {
  try {
    await keepTrying(work, options, stop);
  } catch (error) {
    if (!stop.aborted || error !== stop.reason) throw error;
  }
}

/**
 * What `work` resolves to, the first time that it does not fail; the rest is as of `keepRunning`.
 * @throws the reason of `stop`; what `work` throws when it is a mistake in the code
 */
export async function keepTrying<T>(
  work: (attempt: AbortSignal) => Promise<T>,
  { what, log, random, firstMs = 500, maxMs = 10_000 }: KeepRunningOptions,
  stop: AbortSignal,
): Promise<T> {
  const waits = backoff({ firstMs, maxMs, random });
  for (let last = ""; ; ) {
    const failed = new AbortController();
    try {
      return await work(AbortSignal.any([stop, failed.signal]));
    } catch (error) {
      failed.abort();
      const reason = error instanceof Error ? error.message : String(error);
      if (stop.aborted) log.debug("background work ended", { what, reason });
      stop.throwIfAborted();
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      if (reason !== last) log.warn("background work failed, trying again", { what, error });
      last = reason;
    }
    await delay(waits.next().value, stop);
    stop.throwIfAborted();
  }
}
