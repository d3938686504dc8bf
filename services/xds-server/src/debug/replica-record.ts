/** Reports to the fleet, through the shared store, which proxies are connected here and what they have. */
import { type Logger, sharedDelay } from "@flotilla/runtime";
import { type SnapshotStore, StateError } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import type { ReplicaSummary } from "./fleet-status.ts";
import { ReplicaParts } from "./replica-parts.ts";

const defaultEveryMs = 2_000;

export interface ReplicaOptions {
  /** Our key among the replicas, new with each start. */
  readonly id: string;
  /** Our pod or host name. */
  readonly replica: string;
  /** Where callers reach our debug pages. */
  readonly pages?: string | undefined;
  readonly streams: () => readonly StreamRecord[];
  readonly store: Pick<SnapshotStore, "putReplica" | "removeReplica" | "state">;
  readonly log: Logger;
  /** Between two records. */
  readonly everyMs?: number;
}

/** Runs until `stop` fires, and takes the record away then. It outlives a crash by a few seconds. */
export async function publishReplica(
  { id, replica, pages, streams, store, log, everyMs = defaultEveryMs }: ReplicaOptions,
  stop: AbortSignal,
): Promise<void> {
  const replicaParts = new ReplicaParts();
  let stored: ReadonlyMap<string, object> | undefined;
  while (!stop.aborted) {
    if (store.state.connected) {
      const proxies = streams().filter((stream) => !stream.isIdle());
      const parts = replicaParts.of(proxies);
      const summary: ReplicaSummary = { replica, ...(pages && { pages }), streams: proxies.length };
      const report = { summary, parts: changedSince(stored, parts), isWhole: stored === undefined };
      try {
        const count = await store.putReplica(id, report, everyMs * 3);
        stored = count === parts.size ? parts : undefined;
      } catch (error) {
        stored = undefined;
        // A store that hangs or refuses writes must not end serving, whatever connection state it reports.
        if (!(error instanceof StateError)) throw error;
        log.debug("replica not registered, trying again", { error });
      }
    }
    await sharedDelay(everyMs, stop);
  }
  if (!store.state.connected) return;
  await store.removeReplica(id).catch((error: unknown) => log.debug("record of this replica not removed", { error }));
}

function changedSince(
  before: ReadonlyMap<string, object> | undefined,
  now: ReadonlyMap<string, object>,
): ReadonlyMap<string, object | undefined> {
  const changed = new Map<string, object | undefined>();
  for (const [name, part] of now) if (before?.get(name) !== part) changed.set(name, part);
  for (const name of before?.keys() ?? []) if (!now.has(name)) changed.set(name, undefined);
  return changed;
}
