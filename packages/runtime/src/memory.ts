/** How processes of many connections are kept small; docs/decisions/0060-memory-goes-back.md has the figures. */
import { type EventLoopUtilization, performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { sharedDelay } from "./shared-delay.ts";

/**
 * For the environment of a service's process: memory of large messages goes back to the system when it is freed, and garbage of one burst
 * does not stay mapped. The environment's own values take precedence.
 */
export const memoryEnvironment: Readonly<Record<string, string>> = {
  NODE_OPTIONS: "--max-semi-space-size=8",
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_MMAP_MAX_: "30000",
  MALLOC_TRIM_THRESHOLD_: "1048576",
};

/**
 * Has V8 collect garbage once the old generation is `percent` larger than what was alive at the last collection. V8's own bound follows how
 * much is allocated: a small heap may double, and after a collection in a quiet time a tenth more begins the next one.
 */
export function limitHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

type Collect = (options: { readonly type: "major"; readonly execution: "sync" }) => void;

let collect: Collect | undefined;

/**
 * Collects all garbage, which stops the process for 0.5 to 1 ms a MB of the heap: call it when little is going on. V8 gives the pages back to the
 * system some ten seconds later, in steps, as it does after each full collection of a process that allocates little. (The flavor `last-resort`
 * gives them back at once and stops the process two to four times as long.)
 */
export function releaseMemory(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  collect({ type: "major", execution: "sync" });
}

/** Reads the process and its clock; tests have others. */
export interface MemoryProbe {
  /** RSS, and what of V8's heap is in use. */
  readonly bytes: () => { readonly resident: number; readonly heapUsed: number };
  /** Share of the time since the last call in which the event loop was busy. */
  readonly busyShare: () => number;
  readonly nowMs: () => number;
  readonly wait: (ms: number, stop: AbortSignal) => Promise<void>;
}

const lookMs = 1_000;
const mib = 2 ** 20;
/** After this long with little to do. */
const quietMs = 3_000;
const quietShare = 0.05;
/** Growth since the last release that is worth a collection. */
const worthBytes = 32 * mib;
const worthShare = 0.25;
/** Collecting a larger heap would hold changes up for a third of a second and more: V8 does that in steps, when it sees fit. */
const maxHeapBytes = 512 * mib;
/** A release may take a hundredth of the time. */
const pauseShare = 0.01;

/**
 * Calls `release`, which gives memory back, once a process has little to do after its RSS has grown: V8 collects nothing while nothing is
 * allocated, so that the garbage of a burst stays until the next one. Runs until `stop` fires.
 */
export async function releaseWhenQuiet(
  release: () => void,
  stop: AbortSignal,
  probe: MemoryProbe = processProbe(),
): Promise<void> {
  let [lowest, quietSinceMs, nextMs] = [0, probe.nowMs(), 0];
  for (; !stop.aborted; await probe.wait(lookMs, stop)) {
    const { resident, heapUsed } = probe.bytes();
    const nowMs = probe.nowMs();
    lowest = Math.min(lowest, resident);
    if (probe.busyShare() > quietShare) quietSinceMs = nowMs;
    if (nowMs - quietSinceMs < quietMs || nowMs < nextMs || heapUsed > maxHeapBytes) continue;
    if (resident - lowest < Math.max(worthBytes, lowest * worthShare)) continue;
    release();
    lowest = probe.bytes().resident;
    nextMs = probe.nowMs() + (probe.nowMs() - nowMs) / pauseShare;
    // The collection itself is no work.
    probe.busyShare();
  }
}

function processProbe(): MemoryProbe {
  let last: EventLoopUtilization = performance.eventLoopUtilization();
  return {
    bytes: () => ({ resident: process.memoryUsage.rss(), heapUsed: getHeapStatistics().used_heap_size }),
    busyShare: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    nowMs: () => performance.now(),
    wait: sharedDelay,
  };
}
