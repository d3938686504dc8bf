/** Tells the fleet, through the shared store, which proxies are connected here. */

import { randomUUID } from "node:crypto";
import { delay } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { AdsServer } from "../serve/ads-server.ts";
import { syncz } from "./syncz.ts";

const everyMs = 2_000;

/** Runs until `stop` fires. The record outlives a crash by a few seconds only. */
export async function publishReplica(store: SnapshotStore, ads: AdsServer, stop: AbortSignal): Promise<void> {
  const id = randomUUID();
  while (!stop.aborted) {
    if (store.state.connected) {
      try {
        await store.putReplica(id, { streams: ads.streams().length, proxies: syncz(ads.streams()) }, everyMs * 3);
      } catch (error) {
        // The connection broke meanwhile: the store's own state tells it; any other error is ours.
        if (store.state.connected) throw error;
      }
    }
    await delay(everyMs, stop);
  }
}
