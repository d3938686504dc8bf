/**
 * A bounded number of concurrent operations; the longest waiting comes next. An operation without a slot can ask blocking queries that only
 * wait for changes to release theirs.
 */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  #wanted = new AbortController();

  constructor(count: number) {
    this.#free = count;
  }

  get isCrowded(): boolean {
    return this.#waiting.length > 0;
  }

  /** Fires when somebody has to wait for a place. */
  get wanted(): AbortSignal {
    return this.#wanted.signal;
  }

  /** Runs `work` when there is room; not at all once `stop` fires. @throws the reason of `stop`, what `work` throws */
  async run<T>(work: () => Promise<T>, stop: AbortSignal): Promise<T> {
    await this.#take();
    try {
      stop.throwIfAborted();
      return await work();
    } finally {
      this.#give();
    }
  }

  async #take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const place = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#wanted.abort();
    this.#wanted = new AbortController();
    await place;
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
