/** Tells the fleet, through the shared store, which proxies are connected here and what they have. */
import { delay } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { FleetStatus, ReplicaRecord } from "./fleet-status.ts";

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
  while (!stop.aborted) {
    if (store.state.connected) {
      const proxies = fleet.own();
      const record: ReplicaRecord = { replica, streams: proxies.length, proxies };
      try {
        await store.putReplica(id, record, everyMs * 3);
      } catch (error) {
        // The connection broke meanwhile: the store's own state tells it; any other error is ours.
        if (store.state.connected) throw error;
      }
    }
    await delay(everyMs, stop);
  }
}
