/** Wakes a stream that waits for something at the earliest of the times it was asked for. */
export class TurnTimer {
  readonly #now: () => number;
  readonly #onTime: () => void;
  #timer: NodeJS.Timeout | undefined;
  #atMs = Number.POSITIVE_INFINITY;

  constructor(now: () => number, onTime: () => void) {
    this.#now = now;
    this.#onTime = onTime;
  }

  wakeAt(atMs: number): void {
    if (atMs >= this.#atMs) return;
    clearTimeout(this.#timer);
    this.#atMs = atMs;
    this.#timer = setTimeout(
      () => {
        this.#atMs = Number.POSITIVE_INFINITY;
        this.#onTime();
      },
      Math.max(1, atMs - this.#now()),
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
