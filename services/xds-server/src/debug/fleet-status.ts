/** The proxies of the whole fleet: those connected here as they are now, others as their replicas last told. */
import type { SnapshotStore } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import { type ProxyStatus, proxyStatus } from "./proxy-status.ts";

/** What a replica tells of itself every few seconds. */
export interface ReplicaRecord {
  /** Its pod or host name. */
  readonly replica: string;
  readonly streams: number;
  readonly proxies: readonly ProxyStatus[];
}

export interface FleetStatus {
  /** Streams that only ask debug questions are no proxies. */
  own(): readonly ProxyStatus[];
  /** Every proxy once; without the store, those connected here. */
  all(): Promise<readonly ProxyStatus[]>;
  /** The replica that last told of a proxy which is not connected here. */
  elsewhere(proxy: string): Promise<string | undefined>;
}

export function createFleetStatus(
  streams: () => readonly StreamRecord[],
  store: Pick<SnapshotStore, "replicas" | "state">,
): FleetStatus {
  const own = () =>
    streams()
      .filter((stream) => stream.types().size > 0)
      .map(proxyStatus);
  const records = async (): Promise<readonly ReplicaRecord[]> =>
    store.state.connected ? ([...(await store.replicas()).values()] as readonly ReplicaRecord[]) : [];
  return {
    own,
    all: async () => {
      const byProxy = new Map<string, ProxyStatus>();
      // A proxy that moved is told of twice for a moment: its latest connection counts, ours before the others'.
      for (const { proxies } of await records()) for (const status of proxies) keepLatest(byProxy, status);
      for (const status of own()) byProxy.set(status.proxy, status);
      return [...byProxy.values()];
    },
    elsewhere: async (proxy) =>
      (await records()).find(({ proxies }) => proxies.some((status) => status.proxy === proxy))?.replica,
  };
}

function keepLatest(byProxy: Map<string, ProxyStatus>, status: ProxyStatus): void {
  const known = byProxy.get(status.proxy);
  if (known === undefined || known.connectedAtMs < status.connectedAtMs) byProxy.set(status.proxy, status);
}
