/** Long work that yields the event loop to others after each slice of time. */
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
