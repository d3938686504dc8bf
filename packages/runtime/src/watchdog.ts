/**
 * Reports a main thread that stands still, with its stack, and ends the process when it does so for too long: a service that is
 * frozen must not stay in rotation. A thread measures; see docs/decisions/0152-a-thread-watches-the-main-thread.md.
 */
import inspector from "node:inspector";
import { Worker } from "node:worker_threads";
import { busyInterval } from "./busy-interval.ts";
import { duration } from "./settings/kinds.ts";
import type { SettingsOf } from "./settings/settings.ts";
import { WatchdogThread, type WatchdogThreadData } from "./watchdog-thread.ts";

/** After which stall the watchdog logs, and after which it ends the process. */
export const watchdogSettings = {
  stallReportMs: duration({
    env: "WATCHDOG_REPORT_AFTER",
    default: 1_000,
    sentence: "A main thread that has not run for this long is logged with its stack; 0s turns the watchdog off.",
  }),
  stallEndMs: duration({
    env: "WATCHDOG_END_AFTER",
    default: 30_000,
    sentence: "A main thread that has not run for this long ends the process, with exit code 70; 0s: never.",
  }),
} as const;

/** Settings of the watchdog and the service's name. */
export interface WatchdogOptions extends SettingsOf<typeof watchdogSettings> {
  /** Stands in the log lines. */
  readonly service: string;
}

/** As sysexits.h has it: an internal software error. */
const exitCode = 70;
/** On a busy machine half a second is not enough. */
const stackWithinMs = 2_000;
const [beatCell, stallsCell, inspectorCell, nextCell] = [0, 1, 2, 3];
/** One for the process, as the main thread is. */
const shared = new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));

/** Stalls of this process's main thread since its start. */
export function mainThreadStalls(): number {
  return Atomics.load(shared, stallsCell);
}

/** Undefined where the settings turn it off. It keeps no process alive. */
export function startWatchdog({ service, stallReportMs, stallEndMs }: WatchdogOptions): AsyncDisposable | undefined {
  if (stallReportMs === 0) return undefined;
  const tickMs = stallReportMs / 4;
  const limits = { reportAfterMs: stallReportMs, endAfterMs: stallEndMs };
  const data: WatchdogThreadData = { service, shared, tickMs, ...limits, stackWithinMs, exitCode };
  const code = `new (${WatchdogThread.toString()})(require("node:worker_threads").workerData).run()`;
  const thread = new Worker(code, { eval: true, name: "watchdog", workerData: data, env: {}, execArgv: [] });
  thread.unref();
  const beat = (nextMs: number): void => {
    Atomics.store(shared, nextCell, Math.ceil(nextMs));
    Atomics.store(shared, inspectorCell, inspector.url() === undefined ? 0 : 1);
    Atomics.add(shared, beatCell, 1);
    Atomics.notify(shared, beatCell);
  };
  beat(tickMs);
  const end = busyInterval(({ nextMs }) => beat(nextMs), tickMs);
  return {
    [Symbol.asyncDispose]: async () => {
      await thread.terminate();
      end();
    },
  };
}
