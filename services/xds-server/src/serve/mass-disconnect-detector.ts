/** Detects that most streams have ended for good, as after a rollout elsewhere, so that memory can be released. */

export interface MassDisconnectOptions {
  /** Called when the count has been at most half of its peak for `quietMs` without another stream leaving. */
  readonly onMassDisconnect: () => void;
  readonly quietMs: number;
  /** With fewer streams than this at the peak nothing is reported. */
  readonly minPeak: number;
}

export class MassDisconnectDetector implements Disposable {
  readonly #options: MassDisconnectOptions;
  #peak = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MassDisconnectOptions) {
    this.#options = options;
  }

  /** To be called with the number of streams whenever it has changed. */
  count(streams: number): void {
    const { minPeak, quietMs, onMassDisconnect } = this.#options;
    this.#peak = Math.max(this.#peak, streams);
    clearTimeout(this.#timer);
    if (this.#peak < minPeak || streams > this.#peak / 2) return;
    this.#timer = setTimeout(() => {
      this.#peak = streams;
      onMassDisconnect();
    }, quietMs).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
