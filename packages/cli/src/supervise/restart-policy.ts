/** When a process that ended is started again and when that is given up, and when one that runs without doing its work is ended. */
import { backoff, delay } from "@flotilla/runtime";

export interface RestartPolicy {
  readonly firstMs: number;
  readonly maxMs: number;
  /** A process that was ready for this long is restarted at once, and the waits begin anew. */
  readonly steadyMs: number;
  /** So many ends within `withinMs` without having been ready are a crash loop. */
  readonly maxFailures: number;
  readonly withinMs: number;
}

export const defaultPolicy: RestartPolicy = {
  firstMs: 200,
  maxMs: 10_000,
  steadyMs: 10_000,
  maxFailures: 5,
  withinMs: 60_000,
};

export interface End {
  readonly atMs: number;
  /** Undefined when it was not ready before it ended. */
  readonly readySinceMs: number | undefined;
}

export type Decision =
  | { readonly kind: "restart"; readonly afterMs: number }
  | { readonly kind: "give up"; readonly failures: number; readonly withinMs: number };

/** Exits of one process, and the restart decision for each. */
export class RestartHistory {
  readonly #policy: RestartPolicy;
  #waits: Generator<number, never>;
  #failures: readonly number[] = [];

  constructor(policy: RestartPolicy = defaultPolicy) {
    this.#policy = policy;
    this.#waits = this.#newWaits();
  }

  note({ atMs, readySinceMs }: End): Decision {
    const { steadyMs, maxFailures, withinMs } = this.#policy;
    if (readySinceMs !== undefined) {
      this.#failures = [];
      if (atMs - readySinceMs >= steadyMs) {
        this.#waits = this.#newWaits();
        return { kind: "restart", afterMs: 0 };
      }
    } else {
      this.#failures = [...this.#failures.filter((at) => atMs - at < withinMs), atMs];
      if (this.#failures.length >= maxFailures) return { kind: "give up", failures: this.#failures.length, withinMs };
    }
    return { kind: "restart", afterMs: this.#waits.next().value };
  }

  /** Nothing else restarts at the same time on one host: no jitter. */
  #newWaits(): Generator<number, never> {
    const { firstMs, maxMs } = this.#policy;
    return backoff({ firstMs, maxMs, random: () => 1 });
  }
}

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

/** A check is awaited when the process has ended: one that throws must not end its supervisor meanwhile. */
function failedCheck(error: unknown): string {
  return `its check failed: ${error instanceof Error ? error.message : String(error)}`;
}

/** Resolves to the last reason once the run has failed for long enough; to undefined when it is over or cannot be asked. */
export async function lastingFailure(
  run: Failing,
  { everyMs, forMs }: FailurePolicy,
  over: AbortSignal,
): Promise<string | undefined> {
  let sinceMs: number | undefined;
  while (run.failure !== undefined && !over.aborted) {
    const failure = await run.failure().catch(failedCheck);
    const nowMs = performance.now();
    if (failure === undefined) sinceMs = undefined;
    else sinceMs ??= nowMs;
    if (failure !== undefined && sinceMs !== undefined && nowMs - sinceMs >= forMs) return failure;
    await delay(everyMs, over);
  }
  return undefined;
}
