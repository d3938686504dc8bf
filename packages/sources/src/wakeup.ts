/** Lets a loop sleep until somebody wakes it, time is up or all is over. A call that comes early is not lost. */
export class Wakeup {
  #called = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#called = true;
    this.#resolve?.();
  }

  /** True when it was woken, false when the time was up or `stop` fired. */
  async wait(withinMs: number, stop: AbortSignal): Promise<boolean> {
    if (!this.#called && !stop.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const done = new AbortController();
      this.#resolve = resolve;
      const timer = Number.isFinite(withinMs) ? setTimeout(resolve, withinMs) : undefined;
      stop.addEventListener("abort", () => resolve(), { once: true, signal: done.signal });
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        done.abort();
        this.#resolve = undefined;
      }
    }
    const called = this.#called && !stop.aborted;
    this.#called = false;
    return called;
  }
}
