/** Waiting that ends: with a deadline, with an AbortSignal, or both. */
import { setTimeout as timeout } from "node:timers/promises";
import { RuntimeError } from "./errors.ts";
import { sharedDelay, sharedTimer } from "./shared-delay.ts";

/** Resolves after `ms`, or at once when `stop` fires: check `stop.aborted` after it. */
export async function delay(ms: number, stop?: AbortSignal): Promise<void> {
  if (stop?.aborted === true) return;
  try {
    await timeout(ms, undefined, stop === undefined ? {} : { signal: stop });
  } catch (error) {
    if (!(error instanceof Error && error.name === "AbortError")) throw error;
  }
}

/** Calls `work` `ms` after the first call, once for all calls that come until then; not after `stop` has fired. */
export function coalesced(work: () => void, ms: number, stop: AbortSignal): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    void delay(ms, stop).then(() => {
      isPlanned = false;
      if (!stop.aborted) work();
    });
  };
}

/** How long to wait and how often to check, in milliseconds. */
export interface UntilOptions {
  readonly withinMs: number;
  /** Completes the sentence "waited … for": what should have come true. */
  readonly what: string;
  readonly everyMs?: number;
  readonly stop?: AbortSignal;
}

/**
 * Polls `check` until it gives something other than undefined, null or false, and resolves to that.
 * @throws RuntimeError WAIT_EXPIRED; the reason of `stop`
 */
export async function until<T>(
  check: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  { withinMs, what, everyMs = 10, stop }: UntilOptions,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  let failure: unknown;
  for (;;) {
    stop?.throwIfAborted();
    try {
      const result = await check();
      if (result !== undefined && result !== null && result !== false) return result;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadline) break;
    await delay(everyMs, stop);
  }
  const last = failure instanceof Error ? `; last failure: ${failure.message}` : "";
  throw new RuntimeError("WAIT_EXPIRED", `waited ${withinMs} ms for ${what}${last}`, { cause: failure });
}

/** A signal with a time limit; disposing of it ends the timer, and the signal fires no more. */
export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * A signal that fires with `stop` and its reason, or after `ms` with a TimeoutError. `AbortSignal.any` of the two holds the timed signal
 * weakly, and never fires once that was collected (https://github.com/nodejs/node/issues/57736).
 */
export function timeLimit(ms: number, stop?: AbortSignal): TimeLimit {
  const limited = new AbortController();
  const onStop = () => limited.abort(stop?.reason);
  const onTime = () => limited.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
  // Longer timers than Node has would fire at once.
  const timer = setTimeout(onTime, Math.min(ms, 2 ** 31 - 1)).unref();
  if (stop?.aborted) onStop();
  else stop?.addEventListener("abort", onStop, { once: true });
  const end = () => {
    clearTimeout(timer);
    stop?.removeEventListener("abort", onStop);
  };
  limited.signal.addEventListener("abort", end, { once: true });
  if (limited.signal.aborted) end();
  return { signal: limited.signal, [Symbol.dispose]: end };
}

/** Runs `work` until it ends; waits in it that end with the reason of `stop` are no failure. */
export async function untilStopped(work: () => Promise<void>, stop: AbortSignal): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!stop.aborted || cause !== stop.reason) throw cause;
  }
}

/** Resolves when `stop` fires. */
export function aborted(stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve();
  return new Promise((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
}

/** `promise`, or a rejection with the reason of `stop`, whichever comes first; leaves no listener behind. */
export async function orAborted<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
  const { promise: abortion, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(stop.reason);
  // Also then `promise` stands in the race: it is awaited nowhere else, and its rejection would end the process.
  if (stop.aborted) onAbort();
  stop.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([abortion, promise]);
  } finally {
    stop.removeEventListener("abort", onAbort);
  }
}

/** Bounds of the waits, in milliseconds. */
export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** In [0, 1): spreads the waits of many processes that failed together. */
  readonly random: () => number;
}

/** Waits between attempts: doubling up to `maxMs`, each spread over its upper half. */
export function* backoff({ firstMs, maxMs, random }: BackoffOptions): Generator<number, never> {
  for (let ms = firstMs; ; ms = Math.min(ms * 2, maxMs)) yield (ms * (1 + random())) / 2;
}

/** Lets a loop sleep until somebody wakes it. A call that comes before the sleep is not lost. */
export class Wakeup {
  #called = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#called = true;
    this.#resolve?.();
  }

  /** As `wait`, with `sharedDelay`: for a loop that checks something in an interval as well. */
  waitShared(stop: AbortSignal, withinMs: number): Promise<boolean> {
    return this.#wait(stop, (end) => sharedTimer(withinMs, end));
  }

  /** True when it was woken; false when `withinMs` were up or `stop` fired. */
  wait(stop: AbortSignal, withinMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    return this.#wait(stop, (end) => {
      const timer = Number.isFinite(withinMs) ? setTimeout(end, withinMs) : undefined;
      return () => clearTimeout(timer);
    });
  }

  /** @param limit calls its argument when the time is up, and returns a function that cancels that */
  async #wait(stop: AbortSignal, limit: (end: () => void) => () => void): Promise<boolean> {
    if (!this.#called && !stop.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const onAbort = () => resolve();
      this.#resolve = resolve;
      const cancel = limit(resolve);
      stop.addEventListener("abort", onAbort, { once: true });
      await promise;
      cancel();
      stop.removeEventListener("abort", onAbort);
      this.#resolve = undefined;
    }
    const woken = this.#called && !stop.aborted;
    this.#called = false;
    return woken;
  }
}

/** As long as a jump of the clock may stay unnoticed. */
const lookMs = 1_000;

/**
 * The age by the wall clock: the machine may sleep, and its clock may be set forward or back. A time after now was noted before the clock
 * was set back: its age is unknown, so that it counts as old.
 */
export function ageMs(sinceMs: number, nowMs: number): number {
  return nowMs < sinceMs ? Number.POSITIVE_INFINITY : nowMs - sinceMs;
}

/**
 * Resolves after `ms` or when `stop` fires, as `delay` does, but earlier when the wall clock has gone on by as much: timers do not
 * count the time that a machine sleeps.
 */
export async function delayByWallClock(ms: number, stop?: AbortSignal, nowMs: () => number = Date.now): Promise<void> {
  const [steadyMs, wallMs] = [performance.now(), nowMs()];
  while (stop?.aborted !== true) {
    const leftMs = ms - Math.max(performance.now() - steadyMs, nowMs() - wallMs);
    if (leftMs <= 0) return;
    // The shared tick may come half a second late.
    await (leftMs > 2 * lookMs ? sharedDelay(lookMs, stop) : delay(leftMs, stop));
  }
}
