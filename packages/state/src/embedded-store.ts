/** The store within one process: `embedded:NAME` is the same for all who open that name. */
import { checksumOnly, entryTag } from "./entry-codec.ts";
import type { Snapshot, SnapshotStore, StoreState } from "./snapshot-store.ts";

interface Shared {
  readonly entries: Map<string, Uint8Array>;
  readonly replicas: Map<string, Replica>;
  place: Pick<Snapshot, "position" | "epoch" | "mark"> | undefined;
  writer: { readonly handle: object; readonly untilMs: number } | undefined;
  users: number;
}

interface Replica {
  readonly summary: unknown;
  readonly parts: ReadonlyMap<string, unknown>;
  readonly untilMs: number;
}

/** Module-level on purpose: services in one process find each other by name, like by a server's URL. */
const stores = new Map<string, Shared>();
const connected: StoreState = { connected: true };

/** Opens the store of this process by name; it lives as long as the process. */
export function openEmbedded(name: string, nowMs: () => number, lockMs: number): SnapshotStore {
  const empty = { entries: new Map(), replicas: new Map(), place: undefined, writer: undefined, users: 0 };
  const shared: Shared = stores.get(name) ?? empty;
  stores.set(name, shared);
  shared.users++;
  const handle = {};
  const isHeld = () => shared.writer !== undefined && shared.writer.untilMs > nowMs();
  const renew = () => {
    shared.writer = { handle, untilMs: nowMs() + lockMs };
  };
  const living = (): readonly (readonly [string, Replica])[] => {
    for (const [id, { untilMs }] of shared.replicas) if (untilMs <= nowMs()) shared.replicas.delete(id);
    return [...shared.replicas].sort();
  };
  let isClosed = false;
  return {
    state: connected,
    onState: () => () => undefined,
    load: async (): Promise<Snapshot | undefined> =>
      shared.place === undefined ? undefined : { ...shared.place, entries: new Map(shared.entries), setAside: [] },
    claim: async () => {
      if (isHeld() && shared.writer?.handle !== handle) return undefined;
      renew();
      const tagOf = (key: string, value: Uint8Array) => entryTag(checksumOnly, key, value);
      return { stored: new Map([...shared.entries].map(([key, value]) => [key, tagOf(key, value)])), tagOf };
    },
    write: async ({ entries, position, epoch, mark }) => {
      if (!isHeld() || shared.writer?.handle !== handle) return false;
      renew();
      for (const [key, value] of entries) {
        if (value === undefined) shared.entries.delete(key);
        else shared.entries.set(key, value);
      }
      shared.place = { position, ...(epoch !== undefined && { epoch }), ...(mark !== undefined && { mark }) };
      return true;
    },
    putReplica: async (id, { summary, parts, isWhole }, ttlMs) => {
      const kept = isWhole ? undefined : new Map(living()).get(id)?.parts;
      const present = [...(kept ?? []), ...structuredClone(parts)].filter(
        ([name]) => parts.get(name) !== undefined || !parts.has(name),
      );
      const all = new Map(present);
      shared.replicas.set(id, { summary: structuredClone(summary), parts: all, untilMs: nowMs() + ttlMs });
      return all.size;
    },
    removeReplica: async (id) => void shared.replicas.delete(id),
    replicas: async () => new Map(living().map(([id, { summary }]) => [id, summary])),
    replicaParts: async (except) =>
      new Map(living().flatMap(([id, { parts }]) => (id === except ? [] : [[id, parts] as const]))),
    [Symbol.asyncDispose]: async () => {
      if (isClosed) return;
      isClosed = true;
      if (shared.writer?.handle === handle) shared.writer = undefined;
      shared.users--;
      if (shared.users === 0) stores.delete(name);
    },
  };
}
