/** The store within one process: `embedded:NAME` is the same for all who open that name. */
import { entryHash } from "./entry-codec.ts";
import type { Snapshot, SnapshotStore, StoreState } from "./snapshot-store.ts";

interface Shared {
  readonly entries: Map<string, Uint8Array>;
  readonly replicas: Map<string, { readonly record: unknown; readonly untilMs: number }>;
  position: number | undefined;
  writer: object | undefined;
  users: number;
}

/** Module-level on purpose: services in one process find each other by name, like by a server's URL. */
const stores = new Map<string, Shared>();
const connected: StoreState = { connected: true };

export function openEmbedded(name: string, nowMs: () => number): SnapshotStore {
  const shared = stores.get(name) ?? {
    entries: new Map(),
    replicas: new Map(),
    position: undefined,
    writer: undefined,
    users: 0,
  };
  stores.set(name, shared);
  shared.users++;
  const self = {};
  let isClosed = false;
  return {
    state: connected,
    onState: () => () => {},
    load: async (): Promise<Snapshot | undefined> =>
      shared.position === undefined ? undefined : { position: shared.position, entries: new Map(shared.entries) },
    claim: async () => {
      shared.writer ??= self;
      if (shared.writer !== self) return undefined;
      return { stored: new Map([...shared.entries].map(([key, value]) => [key, entryHash(key, value)])) };
    },
    write: async ({ entries, position }) => {
      if (shared.writer !== self) return false;
      for (const [key, value] of entries) {
        if (value === undefined) shared.entries.delete(key);
        else shared.entries.set(key, value);
      }
      shared.position = position;
      return true;
    },
    putReplica: async (id, record, ttlMs) => {
      shared.replicas.set(id, { record, untilMs: nowMs() + ttlMs });
    },
    replicas: async () => {
      for (const [id, { untilMs }] of shared.replicas) if (untilMs < nowMs()) shared.replicas.delete(id);
      return new Map([...shared.replicas].map(([id, { record }]) => [id, record]));
    },
    [Symbol.asyncDispose]: async () => {
      if (isClosed) return;
      isClosed = true;
      if (shared.writer === self) shared.writer = undefined;
      shared.users--;
      if (shared.users === 0) stores.delete(name);
    },
  };
}
