/**
 * Waiting of loops that check something in an interval: all of them wake the process up together. A wakeup of a process that sleeps
 * costs about 100 µs of CPU, each further loop in it 10.
 */

// Not the global ones: a wait that begins while a test has replaced those would never end.
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";

export const sharedTickMs = 1_000;

interface Sleeper {
  /** By the monotonic clock. */
  readonly dueMs: number;
  readonly wake: () => void;
}

class SharedTick {
  readonly #sleepers = new Set<Sleeper>();
  readonly #listeners = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** The timer keeps the process alive as long as somebody sleeps. */
  sleep(ms: number, wake: () => void): () => void {
    const sleeper = { dueMs: performance.now() + ms, wake };
    this.#sleepers.add(sleeper);
    this.#start().ref();
    return () => {
      if (this.#sleepers.delete(sleeper)) this.#settle();
    };
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#start();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #start(): NodeJS.Timeout {
    this.#timer ??= setInterval(() => this.#tick(), sharedTickMs).unref();
    return this.#timer;
  }

  #tick(): void {
    if (this.#sleepers.size + this.#listeners.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const listener of this.#listeners) listener();
    // Half a tick of tolerance: a loop of one second that begins anew just after a tick ends with the next one, not with that after it.
    const dueMs = performance.now() + sharedTickMs / 2;
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs > dueMs) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
    this.#settle();
  }

  #settle(): void {
    if (this.#sleepers.size === 0) this.#timer?.unref();
  }
}

/** One for the process, as it is the process that sleeps. */
const tick = new SharedTick();

/**
 * As `delay`, but waits of a second and more end with a tick that all loops of the process share, up to half a second earlier or later.
 * For loops that check something in an interval, not for deadlines.
 */
export function sharedDelay(ms: number, stop?: AbortSignal): Promise<void> {
  if (stop?.aborted === true) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = sharedTimer(ms, end);
  function end(): void {
    cancel();
    stop?.removeEventListener("abort", end);
    resolve();
  }
  stop?.addEventListener("abort", end, { once: true });
  return promise;
}

/** Calls `work` once after the time that `sharedDelay` waits. Returns a function that cancels it. */
export function sharedTimer(ms: number, work: () => void): () => void {
  if (ms >= sharedTickMs) return tick.sleep(ms, work);
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

/** Calls `listener` about once a second; keeps no process alive. Returns a function that ends that. */
export function onSharedTick(listener: () => void): () => void {
  return tick.listen(listener);
}
