/** A token bucket for new streams: a herd is spread over time, and what would wait too long is turned away. Pure but for its clock. */

export interface AdmissionOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Turned away rather than kept waiting for longer. */
  readonly maxWaitMs: number;
  readonly now: () => number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  #tokens: number;
  #filledAt: number;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAt = options.now();
  }

  /** How many milliseconds the stream has to wait; undefined: it is turned away. */
  reserve(): number | undefined {
    const { perSecond, burst, maxWaitMs, now } = this.#options;
    const at = now();
    this.#tokens = Math.min(burst, this.#tokens + ((at - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = at;
    const waitMs = this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1000) / perSecond;
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens--;
    return waitMs;
  }
}
