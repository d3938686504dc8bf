/** How processes of many connections are kept small; docs/decisions/0060-memory-goes-back.md has the figures. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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
 * Has V8 collect garbage once the old generation is `percent` larger than what was alive at the last collection, where V8 would let a small
 * heap double. For processes that keep little and whose garbage is collected in some ten milliseconds.
 */
export function limitHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

type Collect = (options: {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}) => void;

let collect: Collect | undefined;

/**
 * Collects all garbage and gives the memory back to the system. Takes as long as a full collection: some tens of
 * milliseconds, so call it when little is going on.
 */
export function releaseMemory(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as Collect;
  }
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
