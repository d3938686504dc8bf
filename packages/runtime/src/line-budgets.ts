/**
 * Rate limit of log lines by caller. A caller that is refused in a loop would fill the log and hide the lines of others: after a burst it
 * gets one line per interval, with the number of suppressed ones.
 */

/** A burst of lines for each key, then one per interval. */
export interface LineBudgetOptions {
  readonly maxLines: number;
  readonly intervalMs: number;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Called for each suppressed line. */
  readonly onUnlogged?: (() => void) | undefined;
}

interface Budget {
  lines: number;
  countedAtMs: number;
  unlogged: number;
}

/** Number of keys with a budget of their own; all others share one. */
const maxKeys = 1_000;
const sharedKey = "";

/** Budgets by key, such as a remote address or the name of a proxy. */
export class LineBudgets {
  readonly #options: LineBudgetOptions;
  /** Least recently used first. */
  readonly #budgets = new Map<string, Budget>();

  constructor(options: LineBudgetOptions) {
    this.#options = options;
  }

  /** Writes a line with the number of lines suppressed for the key since its last one, or counts it as suppressed. */
  write(key: string, log: (more: { readonly unlogged?: number }) => void): void {
    const budget = this.#budgetOf(key);
    if (budget.lines < 1) {
      budget.unlogged++;
      this.#options.onUnlogged?.();
      return;
    }
    budget.lines--;
    const { unlogged } = budget;
    budget.unlogged = 0;
    log(unlogged > 0 ? { unlogged } : {});
  }

  #budgetOf(key: string): Budget {
    const { maxLines, intervalMs, now } = this.#options;
    const atMs = now();
    const known = this.#budgets.get(key);
    if (known === undefined && key !== sharedKey && !this.#hasRoom(atMs)) return this.#budgetOf(sharedKey);
    const budget = known ?? { lines: maxLines, countedAtMs: atMs, unlogged: 0 };
    budget.lines = Math.min(maxLines, budget.lines + (atMs - budget.countedAtMs) / intervalMs);
    budget.countedAtMs = atMs;
    this.#budgets.delete(key);
    this.#budgets.set(key, budget);
    return budget;
  }

  /** Forgets keys whose budgets are full again, the oldest first. */
  #hasRoom(atMs: number): boolean {
    const { maxLines, intervalMs } = this.#options;
    for (const [key, { countedAtMs }] of this.#budgets) {
      if (this.#budgets.size < maxKeys || atMs - countedAtMs < maxLines * intervalMs) break;
      this.#budgets.delete(key);
    }
    return this.#budgets.size < maxKeys;
  }
}

/** Limits for a caller that is refused. */
const maxRefusedLines = 50;
const refusedIntervalMs = 1_000;

/** For lines about callers that are refused, by their addresses. */
export function refusedCallerLines(onUnlogged?: () => void): LineBudgets {
  return new LineBudgets({
    ...{ maxLines: maxRefusedLines, intervalMs: refusedIntervalMs },
    ...{ now: () => performance.now(), onUnlogged },
  });
}
