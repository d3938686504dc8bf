/** Tells the fleet, through the shared store, which proxies are connected here and what they have. */
import { delay } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { FleetStatus, ReplicaSummary } from "./fleet-status.ts";
import type { ProxyStatus } from "./proxy-status.ts";

const everyMs = 2_000;

export interface ReplicaOptions {
  /** Our key among the replicas, new with each start. */
  readonly id: string;
  /** Our pod or host name. */
  readonly replica: string;
  readonly fleet: Pick<FleetStatus, "own">;
  readonly store: SnapshotStore;
}

/** Runs until `stop` fires. The record outlives a crash by a few seconds only. */
export async function publishReplica({ id, replica, fleet, store }: ReplicaOptions, stop: AbortSignal): Promise<void> {
  let told: ReadonlyMap<string, ProxyStatus> | undefined;
  while (!stop.aborted) {
    if (store.state.connected) {
      const proxies = new Map(fleet.own().map((status) => [status.connectionId, status]));
      const summary: ReplicaSummary = { replica, streams: proxies.size };
      const report = { summary, parts: changedSince(told, proxies), isWhole: told === undefined };
      try {
        const stored = await store.putReplica(id, report, everyMs * 3);
        told = stored === proxies.size ? proxies : undefined;
      } catch (error) {
        told = undefined;
        // The connection broke meanwhile: the store's own state tells it; any other error is ours.
        if (store.state.connected) throw error;
      }
    }
    await delay(everyMs, stop);
  }
}

function changedSince(
  before: ReadonlyMap<string, ProxyStatus> | undefined,
  now: ReadonlyMap<string, ProxyStatus>,
): ReadonlyMap<string, ProxyStatus | undefined> {
  const changed = new Map<string, ProxyStatus | undefined>();
  for (const [connection, status] of now) if (before?.get(connection) !== status) changed.set(connection, status);
  for (const connection of before?.keys() ?? []) if (!now.has(connection)) changed.set(connection, undefined);
  return changed;
}
