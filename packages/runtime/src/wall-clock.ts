/** What is due by the wall clock: the machine may sleep, and its clock may be set forward or back. */
import { delay } from "./wait.ts";

/** As long as a jump of the clock may stay unnoticed. */
const lookMs = 1_000;

/** What is younger than now was made before the clock was set back: nothing is known of its age, so that it counts as old. */
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
    await delay(Math.min(leftMs, lookMs), stop);
  }
}
