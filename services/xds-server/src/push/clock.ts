/** Time and deadlines as this stage sees them, so that tests can set them. */
export interface PushClock {
  /** Milliseconds; monotonic. */
  now(): number;
  /** After pending IO. */
  soon(task: () => void): void;
  after(ms: number, task: () => void): { cancel(): void };
}

export const systemClock: PushClock = {
  now: () => performance.now(),
  soon: (task) => void setImmediate(task),
  after: (ms, task) => {
    // What waits for time alone keeps no process.
    const timer = setTimeout(task, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Calls back for what is not done within a time that is the same for all. Nearly everything is, so there is one timer, and it rarely runs. */
export interface DeadlinesOptions<Key> {
  readonly clock: Pick<PushClock, "now" | "after">;
  readonly limitMs: number;
  readonly onLate: (key: Key) => void;
}

export class Deadlines<Key> {
  readonly #options: DeadlinesOptions<Key>;
  /** When each was begun, oldest first. */
  readonly #begun = new Map<Key, number>();
  #isArmed = false;

  constructor(options: DeadlinesOptions<Key>) {
    this.#options = options;
  }

  begin(key: Key): void {
    this.#begun.delete(key); // to the end
    this.#begun.set(key, this.#options.clock.now());
    this.#arm();
  }

  /** False: it was reported as late. */
  done(key: Key): boolean {
    return this.#begun.delete(key);
  }

  #arm(): void {
    if (this.#isArmed) return;
    const [oldest] = this.#begun.values();
    if (oldest === undefined) return;
    this.#isArmed = true;
    const { clock, limitMs } = this.#options;
    clock.after(Math.max(1, oldest + limitMs - clock.now()), () => {
      this.#isArmed = false;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const { clock, limitMs, onLate } = this.#options;
    for (const [key, begunAt] of this.#begun) {
      if (begunAt + limitMs > clock.now()) return;
      this.#begun.delete(key);
      onLate(key);
    }
  }
}
