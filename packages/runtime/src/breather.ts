/** Long work on many things lets others on the event loop have their turn. */
import { setImmediate } from "node:timers/promises";

const usualSliceMs = 8;

/** `for (…) { work(one); if (breather.isDue) await breather.rest(); }` */
export class Breather {
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
  async rest(): Promise<void> {
    await setImmediate();
    this.#dueAtMs = performance.now() + this.#sliceMs;
  }
}
