/**
 * Does a duty while its lease is held: asks for the lease again and again, begins when it is held, and ends the duty before another replica
 * can begin it. A holder that cannot do its duty releases the lease, so that another may try.
 */
import { aborted, delay, type Logger, orAborted, sharedDelay } from "@flotilla/runtime";
import type { DutyLease } from "./duty-lease.ts";

/** The lease, and the interval of its renewal in milliseconds. */
export interface LeadershipOptions {
  readonly lease: DutyLease;
  /** The name of the lock, for the log. */
  readonly duty: string;
  readonly log: Logger;
  /** Between two calls for a lease that others have. */
  readonly everyMs?: number;
  /** After a failure a candidate does not ask for this long. */
  readonly awayMs?: number;
  readonly onChange?: (leads: boolean) => void;
}

const usualEveryMs = 5_000;
const lookMs = 1_000;

interface Term {
  readonly end: AbortController;
  readonly done: Promise<void>;
  failure: unknown;
}

/** Runs a duty while its lease is held. */
export class Leadership {
  readonly #options: LeadershipOptions;
  #term: Term | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  get leads(): boolean {
    return this.#term !== undefined && this.#options.lease.isHeld;
  }

  /** Runs until `stop` fires, and then releases the lease. `work` ends when its signal fires; it may be begun again. */
  async run(work: (stop: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
    const { lease, duty, log, awayMs = 30_000 } = this.#options;
    while (!stop.aborted) {
      const isHeld = await this.#ask(stop);
      if (!isHeld || this.#term?.end.signal.aborted === true) await this.#end();
      if (isHeld && !stop.aborted) this.#term ??= this.#begin(work);
      // Ends early when the duty fails: the lease is of no use to us then.
      await Promise.race([sharedDelay(this.#untilNextCallMs(isHeld), stop), this.#term?.done ?? aborted(stop)]);
      const { failure } = this.#term ?? {};
      if (failure === undefined) continue;
      log.warn("a duty failed, another replica may try", { duty, reason: reasonOf(failure) });
      await this.#end();
      await this.#release();
      await delay(awayMs, stop);
    }
    const wasHeld = lease.isHeld;
    await this.#end();
    if (wasHeld) await this.#release();
  }

  async #ask(stop: AbortSignal): Promise<boolean> {
    const { lease, duty, log } = this.#options;
    try {
      return await orAborted(lease.hold(), stop);
    } catch (error) {
      log.debug("lease request failed", { duty, reason: reasonOf(error) });
      return lease.isHeld;
    }
  }

  #begin(work: (stop: AbortSignal) => Promise<void>): Term {
    const { duty, log, onChange } = this.#options;
    log.info("duty taken over", { duty });
    onChange?.(true);
    const end = new AbortController();
    const term: Term = { end, failure: undefined, done: Promise.resolve() };
    const done = work(end.signal)
      .then(() => (end.signal.aborted ? undefined : aborted(end.signal)))
      .catch((cause: unknown) => {
        if (!end.signal.aborted) term.failure = cause;
        end.abort();
      });
    return Object.assign(term, { done: Promise.all([done, this.#endWithLease(end)]).then(() => undefined) });
  }

  /**
   * Half of the time that the lease is held: a renewal that fails is tried again the sooner, the nearer its end. With the usual 15 s that is
   * each 7.5 s, as istiod does.
   */
  #untilNextCallMs(isHeld: boolean): number {
    const { lease, everyMs = usualEveryMs } = this.#options;
    const { heldForMs } = lease;
    return isHeld && Number.isFinite(heldForMs) ? Math.max(heldForMs / 2, everyMs / 5) : everyMs;
  }

  /** A call for the lease may take longer than the lease lasts. */
  async #endWithLease(end: AbortController): Promise<void> {
    const { lease } = this.#options;
    while (lease.isHeld) {
      // Renewals move its end, a machine that slept has lost it: checked with the tick that the process shares, and exactly when it is near.
      const { heldForMs } = lease;
      await (heldForMs > 2 * lookMs ? sharedDelay(lookMs, end.signal) : delay(heldForMs, end.signal));
      if (end.signal.aborted) return;
    }
    end.abort();
  }

  async #end(): Promise<void> {
    const { duty, log, onChange } = this.#options;
    if (this.#term === undefined) return;
    this.#term.end.abort();
    await this.#term.done;
    this.#term = undefined;
    log.info("duty left to another replica", { duty });
    onChange?.(false);
  }

  async #release(): Promise<void> {
    const { lease, duty, log } = this.#options;
    try {
      await lease.release();
    } catch (error) {
      // It ends by its age then.
      log.debug("lease release failed", { duty, reason: reasonOf(error) });
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
