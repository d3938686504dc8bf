/** Notices that most streams have left for good, as after a rollout elsewhere: then is the time to give memory back. */

export interface EbbOptions {
  /** Called when the count has been at most half of its height for `quietMs` without another stream leaving. */
  readonly onEbb: () => void;
  readonly quietMs: number;
  /** Fewer streams than this at their height are not worth it. */
  readonly minHeight: number;
}

export class Ebb implements Disposable {
  readonly #options: EbbOptions;
  #height = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EbbOptions) {
    this.#options = options;
  }

  /** Told the number of streams whenever it changed. */
  count(streams: number): void {
    const { minHeight, quietMs, onEbb } = this.#options;
    this.#height = Math.max(this.#height, streams);
    clearTimeout(this.#timer);
    if (this.#height < minHeight || streams > this.#height / 2) return;
    this.#timer = setTimeout(() => {
      this.#height = streams;
      onEbb();
    }, quietMs).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
