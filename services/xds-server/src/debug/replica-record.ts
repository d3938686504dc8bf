/** Tells the fleet, through the shared store, which proxies are connected here and what they have. */
import { delay } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import type { ReplicaSummary } from "./fleet-status.ts";
import { ReplicaParts } from "./replica-parts.ts";

const everyMs = 2_000;

export interface ReplicaOptions {
  /** Our key among the replicas, new with each start. */
  readonly id: string;
  /** Our pod or host name. */
  readonly replica: string;
  readonly streams: () => readonly StreamRecord[];
  readonly store: SnapshotStore;
}

/** Runs until `stop` fires. The record outlives a crash by a few seconds only. */
export async function publishReplica(
  { id, replica, streams, store }: ReplicaOptions,
  stop: AbortSignal,
): Promise<void> {
  const replicaParts = new ReplicaParts();
  let told: ReadonlyMap<string, object> | undefined;
  while (!stop.aborted) {
    if (store.state.connected) {
      const proxies = streams().filter((stream) => !stream.isIdle());
      const parts = replicaParts.of(proxies);
      const summary: ReplicaSummary = { replica, streams: proxies.length };
      const report = { summary, parts: changedSince(told, parts), isWhole: told === undefined };
      try {
        const stored = await store.putReplica(id, report, everyMs * 3);
        told = stored === parts.size ? parts : undefined;
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
  before: ReadonlyMap<string, object> | undefined,
  now: ReadonlyMap<string, object>,
): ReadonlyMap<string, object | undefined> {
  const changed = new Map<string, object | undefined>();
  for (const [name, part] of now) if (before?.get(name) !== part) changed.set(name, part);
  for (const name of before?.keys() ?? []) if (!now.has(name)) changed.set(name, undefined);
  return changed;
}
