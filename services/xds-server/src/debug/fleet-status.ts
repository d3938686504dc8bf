/** The proxies of the whole fleet: those connected here as they are now, others as their replicas last reported. */
import { integer, objectOf, text } from "@flotilla/model";
import type { SnapshotStore } from "@flotilla/state";
import type { StreamRecord } from "../serve/stream-record.ts";
import { type ProxyStatus, proxyStatus } from "./proxy-status.ts";
import { proxiesOf } from "./replica-parts.ts";

/** A replica's own report, made every few seconds; its proxies are distinguished, by connection. */
export interface ReplicaSummary {
  /** Its pod or host name. */
  readonly replica: string;
  /** Where callers reach its debug pages, where it has such an address. */
  readonly pages?: string;
  readonly streams: number;
}

const summaryShape = objectOf({ replica: text, streams: integer }, { pages: text });

/** Those of other replicas that are summaries: what else stands in the store is written anew by its replica, or vanishes. */
export async function readSummaries(
  store: Pick<SnapshotStore, "replicas">,
): Promise<ReadonlyMap<string, ReplicaSummary>> {
  const found = [...(await store.replicas())].filter(([, summary]) => summaryShape(summary) === undefined);
  return new Map(found as readonly (readonly [string, ReplicaSummary])[]);
}

/** A proxy with the name of its replica, as far as it is reported; undefined for one that is connected here. */
export interface PlacedProxy {
  readonly replica: string | undefined;
  readonly status: ProxyStatus;
}

export interface FleetStatus {
  /** Streams that only ask debug questions are no proxies. */
  own(): readonly ProxyStatus[];
  /** Every proxy once; without the store, those connected here. */
  all(): Promise<readonly ProxyStatus[]>;
  /** The same with the replica that each is connected to; `undefined` stands for this one. */
  byReplica(): Promise<readonly PlacedProxy[]>;
  /** The replica that a proxy which is not connected here connected to last. */
  elsewhere(proxy: string): Promise<ReplicaSummary | undefined>;
}

/** @param ownId key of this replica's reports; they are not read back, since its streams are in memory */
export function createFleetStatus(
  streams: () => readonly StreamRecord[],
  store: Pick<SnapshotStore, "replicas" | "replicaParts" | "state">,
  ownId = "",
): FleetStatus {
  const own = () =>
    streams()
      .filter((stream) => !stream.isIdle())
      .map(proxyStatus);
  const reported = async (): Promise<ReadonlyMap<string, readonly ProxyStatus[]>> => {
    if (!store.state.connected) return new Map();
    return new Map([...(await store.replicaParts(ownId))].map(([id, parts]) => [id, proxiesOf(parts)] as const));
  };
  const placed = async (): Promise<readonly PlacedProxy[]> => {
    const byProxy = new Map<string, PlacedProxy>();
    // A proxy that moved is reported twice for a moment: its latest connection counts, ours before the others'.
    for (const [replica, proxies] of await reported())
      for (const status of proxies) keepLatest(byProxy, { replica, status });
    for (const status of own()) byProxy.set(status.proxy, { replica: undefined, status });
    return [...byProxy.values()];
  };
  return {
    own,
    all: async () => (await placed()).map(({ status }) => status),
    byReplica: async () => {
      const names = store.state.connected ? await readSummaries(store) : new Map<string, ReplicaSummary>();
      return (await placed()).map(({ replica, status }) => {
        return { status, replica: replica === undefined ? undefined : (names.get(replica)?.replica ?? replica) };
      });
    },
    elsewhere: async (proxy) => {
      const connections = [...(await reported())].flatMap(([id, proxies]) =>
        proxies.filter((status) => status.proxy === proxy).map(({ connectedAtMs }) => ({ id, connectedAtMs })),
      );
      const [last] = connections.toSorted((a, b) => b.connectedAtMs - a.connectedAtMs);
      if (last === undefined) return undefined;
      return (await readSummaries(store)).get(last.id);
    },
  };
}

function keepLatest(byProxy: Map<string, PlacedProxy>, one: PlacedProxy): void {
  const known = byProxy.get(one.status.proxy)?.status;
  if (known === undefined || known.connectedAtMs < one.status.connectedAtMs) byProxy.set(one.status.proxy, one);
}
