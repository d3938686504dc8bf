/**
 * Bounds the log lines that callers cause. A caller that is refused in a loop would fill the log and hide the lines of others: after its first lines
 * it gets one in each interval, with the number of those that were left out.
 */

/** Lines at once for one key, then one in each interval. */
export interface LineBudgetOptions {
  readonly maxLines: number;
  readonly intervalMs: number;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
  /** A line was left out. */
  readonly onUnlogged?: (() => void) | undefined;
}

interface Budget {
  lines: number;
  countedAtMs: number;
  unlogged: number;
}

/** Keys that have a budget of their own; further ones share one. */
const maxKeys = 1_000;
const sharedKey = "";

/** Budgets by a caller's name, which may be anything: an address, a proxy. */
export class LineBudgets {
  readonly #options: LineBudgetOptions;
  /** The one that was used longest ago first. */
  readonly #budgets = new Map<string, Budget>();

  constructor(options: LineBudgetOptions) {
    this.#options = options;
  }

  /** Writes a line with the number of those that the key was refused since its last one, or counts it as left out. */
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

/** Of one caller that is refused. */
const maxRefusedLines = 50;
const refusedIntervalMs = 1_000;

/** For lines about callers that are refused, by their addresses. */
export function refusedCallerLines(onUnlogged?: () => void): LineBudgets {
  return new LineBudgets({
    ...{ maxLines: maxRefusedLines, intervalMs: refusedIntervalMs },
    ...{ now: () => performance.now(), onUnlogged },
  });
}
