/**
 * Turns on the event loop: long work that yields after a slice of time, and work that is done one piece after the other.
 */
import { setImmediate } from "node:timers/promises";

const usualSliceMs = 8;

/** `for (…) { work(one); if (timeSlice.isDue) await timeSlice.yield(); }` */
export class TimeSlice {
  readonly #sliceMs: number;
  #dueAtMs: number;

  constructor(sliceMs = usualSliceMs) {
    this.#sliceMs = sliceMs;
    this.#dueAtMs = performance.now() + sliceMs;
  }

  /** The slice is used up. */
  get isDue(): boolean {
    return performance.now() >= this.#dueAtMs;
  }

  /** Resolves when everything else that is ready has had its turn; another slice begins then. */
  async yield(): Promise<void> {
    await setImmediate();
    this.#dueAtMs = performance.now() + this.#sliceMs;
  }
}

/** Work that is done one piece after the other, in the order in which it was asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;

  /** Pieces of work that were asked for and have not ended. */
  get open(): number {
    return this.#open;
  }

  /** Begins when all that was asked for before has ended, well or not; settles as `work` does. */
  take<T>(work: () => Promise<T>): Promise<T> {
    this.#open++;
    const result = this.#last.then(work).finally(() => this.#open--);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
