/** Shared values within one process. */
import { Wakeup } from "@flotilla/runtime";
import type { KeyValue, KeyValueEntry, KeyValueOptions } from "./key-value.ts";

interface Cell extends KeyValueEntry {
  readonly untilMs: number;
}

/** The values of one embedded bucket, shared by all who open it. */
export class Bucket {
  readonly cells = new Map<string, Cell>();
  readonly watchers = new Set<() => void>();
  revision = 0;

  write(key: string, value: Uint8Array | undefined, untilMs: number, code?: string): number {
    const revision = ++this.revision;
    // Deleted first: the map's order is then the order of the revisions.
    this.cells.delete(key);
    const content = { ...(value !== undefined && { value }), ...(code !== undefined && { code }) };
    this.cells.set(key, { key, revision, untilMs, ...content });
    for (const wake of this.watchers) wake();
    return revision;
  }

  live(key: string, nowMs: number): Cell | undefined {
    const cell = this.cells.get(key);
    return cell?.value === undefined || cell.untilMs <= nowMs ? undefined : cell;
  }
}

/** Opens a bucket; values expire `ttlMs` after they were written, by the given clock. */
export function openEmbeddedKeyValue(
  bucket: Bucket,
  {
    ttlMs,
    nowMs,
    ...named
  }: KeyValueOptions & Pick<KeyValue, "bucket" | "setAside"> & { readonly nowMs: () => number },
): KeyValue {
  const untilMs = () => (ttlMs === undefined ? Number.POSITIVE_INFINITY : nowMs() + ttlMs);
  return {
    ...named,
    get: async (key) => {
      const { untilMs: _, ...entry } = bucket.live(key, nowMs()) ?? { untilMs: 0 };
      return "key" in entry ? entry : undefined;
    },
    put: async (key, value, code) => bucket.write(key, value, untilMs(), code),
    update: async (key, value, revision, code) => {
      if ((bucket.live(key, nowMs())?.revision ?? 0) !== revision) return undefined;
      return bucket.write(key, value, untilMs(), code);
    },
    delete: async (key) => void bucket.write(key, undefined, Number.POSITIVE_INFINITY),
    entries: async () =>
      [...bucket.cells.values()]
        .filter(({ value, untilMs }) => value !== undefined && untilMs > nowMs())
        .map(({ untilMs: _, ...entry }) => entry),
    watch: (stop) => watch(bucket, nowMs, stop),
  };
}

async function* watch(bucket: Bucket, nowMs: () => number, stop: AbortSignal): AsyncGenerator<KeyValueEntry> {
  const wakeup = new Wakeup();
  const wake = () => wakeup.wake();
  bucket.watchers.add(wake);
  try {
    for (let seen = 0; !stop.aborted; ) {
      const fresh = [...bucket.cells.values()].filter(({ revision }) => revision > seen);
      for (const { untilMs, ...entry } of fresh) {
        seen = entry.revision;
        if (untilMs > nowMs()) yield entry;
        if (stop.aborted) return;
      }
      if (fresh.length === 0) await wakeup.wait(stop);
    }
  } finally {
    bucket.watchers.delete(wake);
  }
}
