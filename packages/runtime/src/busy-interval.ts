/**
 * An interval for measuring the event loop: short while the loop is busy, and a second while it has little to do, when there is little to
 * measure. Ten wakeups a second would cost more CPU than all else that an idle service does.
 */
import { performance } from "node:perf_hooks";
import { onSharedTick, sharedTickMs } from "./shared-delay.ts";

/** When the loop called, and when it will call again. */
export interface BusyCall {
  /** How much later than it was due. */
  readonly lateMs: number;
  readonly nextMs: number;
}

const busyShare = 0.05;
/** Calm for this long, the loop is quiet; a process that has just started is busy. */
const calmMs = 3_000;

/**
 * Calls `work` each `busyMs` while more than a twentieth of the time is used, else about once a second. Keeps no process alive. Returns a
 * function that ends it.
 */
export function busyInterval(work: (call: BusyCall) => void, busyMs: number): () => void {
  let last = performance.eventLoopUtilization();
  let calmSinceMs = performance.now();
  let dueMs = calmSinceMs + busyMs;
  let timer: NodeJS.Timeout | undefined;
  const call = (nextMs: number): void => {
    const nowMs = performance.now();
    work({ lateMs: Math.max(0, nowMs - dueMs), nextMs });
    dueMs = nowMs + nextMs;
  };
  const start = (): NodeJS.Timeout => setInterval(() => call(busyMs), busyMs).unref();
  const isCalm = (): boolean => {
    const now = performance.eventLoopUtilization();
    if (performance.eventLoopUtilization(now, last).utilization > busyShare) calmSinceMs = performance.now();
    last = now;
    return performance.now() - calmSinceMs >= calmMs;
  };
  timer = start();
  const unlisten = onSharedTick(() => {
    if (isCalm()) {
      clearInterval(timer);
      timer = undefined;
      call(sharedTickMs);
    } else if (timer === undefined) {
      timer = start();
      call(busyMs);
    }
  });
  return () => {
    clearInterval(timer);
    unlisten();
  };
}
