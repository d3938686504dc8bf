/** Background work that needs another server: failures of that server never end the service. */
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";
import { backoff, delay } from "./wait.ts";

/** Failures of background work by its name: counted, and shown on /ready while they last. They never make a service unready. */
export class FailingWork {
  readonly #failures;
  readonly #readiness: Pick<Readiness, "setCondition">;

  /** One for each service. */
  constructor(metrics: Metrics, readiness: Pick<Readiness, "setCondition">) {
    this.#readiness = readiness;
    this.#failures = metrics.counter({
      name: "flotilla_background_failures_total",
      help: "Failures of background work, which is begun again with back-off, by the name of the work",
      labels: ["work"],
    });
  }

  /** `work` is one of a closed set of names. */
  noteFailure(work: string, reason: string): void {
    this.#failures.add(1, { work });
    this.#readiness.setCondition(conditionOf(work), `fails and is tried again: ${reason}`, { blocks: false });
  }

  noteRecovery(work: string): void {
    this.#readiness.setCondition(conditionOf(work), undefined);
  }
}

/** Apart from the conditions that the work sets itself. */
function conditionOf(work: string): string {
  return `background work "${work}"`;
}

export interface KeepRunningOptions {
  /** For the log: "trust reports". */
  readonly what: string;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
  /** Notified of each failure, and of the recovery. */
  readonly failures?: FailingWork | undefined;
  readonly firstMs?: number;
  readonly maxMs?: number;
  /** An attempt that goes on for so long has recovered: longer than a dependency may take to answer. */
  readonly steadyMs?: number;
}

const usualSteadyMs = 30_000;

/**
 * Runs `work` until it ends by itself or `stop` fires, and begins it again with back-off when it fails; the same failure is logged once,
 * and counted each time.
 * The signal it gets fires with `stop`, and when the attempt has failed: parts beside the one that failed end.
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
 * The result of the first run of `work` that does not fail; the rest is as of `keepRunning`.
 * @throws the reason of `stop`; what `work` throws when it is a mistake in the code
 */
export async function keepTrying<T>(
  work: (attempt: AbortSignal) => Promise<T>,
  { what, log, random, failures, firstMs = 500, maxMs = 10_000, steadyMs = usualSteadyMs }: KeepRunningOptions,
  stop: AbortSignal,
): Promise<T> {
  let waits = backoff({ firstMs, maxMs, random });
  let last: string | undefined;
  const recover = (): void => {
    if (last === undefined) return;
    last = undefined;
    waits = backoff({ firstMs, maxMs, random });
    failures?.noteRecovery(what);
    log.info("background work resumed", { what });
  };
  for (;;) {
    const failed = new AbortController();
    const steady = setTimeout(recover, steadyMs).unref();
    try {
      const result = await work(AbortSignal.any([stop, failed.signal]));
      recover();
      return result;
    } catch (error) {
      failed.abort();
      const reason = error instanceof Error ? error.message : String(error);
      if (stop.aborted) {
        log.debug("background work ended", { what, reason });
        failures?.noteRecovery(what);
      }
      stop.throwIfAborted();
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      if (reason !== last) log.warn("background work failed, trying again", { what, error });
      failures?.noteFailure(what, reason);
      last = reason;
    } finally {
      clearTimeout(steady);
    }
    await delay(waits.next().value, stop);
    if (stop.aborted) failures?.noteRecovery(what);
    stop.throwIfAborted();
  }
}
