/** The shared snapshot: its store, its seal, and the start of this replica from it. */
import { randomUUID } from "node:crypto";
import { readSeal, type Seal, SetAside } from "@flotilla/bus";
import { delay } from "@flotilla/runtime";
import { openStore, type SnapshotStore } from "@flotilla/state";
import type { Ingest } from "../ingest/ingest.ts";
import type { XdsService } from "../settings.ts";

export interface Snapshot extends AsyncDisposable {
  readonly seal: Seal | undefined;
  /** Values of the snapshot and of the bus that cannot be read. */
  readonly setAside: SetAside;
  readonly store: SnapshotStore;
  /** Key of this replica's reports in the store, new with each start. */
  readonly reportId: string;
}

/** How long the start waits for a store that does not answer. */
const connectWithinMs = 2_000;

/** @throws BusError for a seal key that cannot be read; StateError for a URL of no store */
export async function openSnapshot({ settings, health, log }: XdsService): Promise<Snapshot> {
  const seal = await readSeal(settings.sealKeyFile);
  const setAside = new SetAside({ log, nowMs: Date.now });
  const store = openStore({ url: settings.storeUrl, log, mac: seal?.mac, unreadable: setAside });
  store.onState((state) => health.setCondition("store", state.connected ? undefined : `unreachable: ${state.reason}`));
  return { seal, setAside, store, reportId: randomUUID(), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** Loads the snapshot of a store that is there; one that is away does not delay the start for long. */
export async function loadSnapshot(
  { log, stop }: Pick<XdsService, "log" | "stop">,
  { store }: Pick<Snapshot, "store">,
  ingest: Pick<Ingest, "loadSnapshot">,
): Promise<void> {
  if (await isConnectedSoon(store, stop)) await ingest.loadSnapshot();
  else log.warn("redis unreachable, going on without a snapshot");
}

async function isConnectedSoon(store: Pick<SnapshotStore, "state" | "onState">, stop: AbortSignal): Promise<boolean> {
  if (store.state.connected) return true;
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.onState((state) => state.connected && resolve());
  const waited = new AbortController();
  await Promise.race([connected, delay(connectWithinMs, AbortSignal.any([stop, waited.signal]))]);
  waited.abort();
  unsubscribe();
  return store.state.connected;
}
