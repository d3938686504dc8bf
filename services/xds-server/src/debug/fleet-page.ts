/** `/debug/fleet`: the proxies of the whole fleet as rows of a table that is searched, filtered, sorted and cut here. */
import { shownType } from "@flotilla/proto";
import { type ListShape, listPage } from "@flotilla/runtime";
import type { FleetStatus, PlacedProxy } from "./fleet-status.ts";
import type { DebugPage } from "./page.ts";
import type { ProxyStatus, TypeStatus } from "./proxy-status.ts";
import { maySee } from "./viewer.ts";

/** A proxy; `types` by short name, such as `cds`. */
export interface FleetRow {
  readonly proxy: string;
  readonly namespace: string;
  readonly type: string;
  readonly version: string;
  readonly cluster: string;
  readonly replica: string;
  readonly peer: string;
  readonly connectedAt: string;
  readonly state: SyncState;
  readonly types: Readonly<Record<string, TypeRow>>;
}

type SyncState = "synced" | "sending" | "rejected";

interface TypeRow {
  readonly state: SyncState;
  readonly version?: string;
  readonly sentAt?: string;
  readonly sentGeneration?: number;
  readonly ackedGeneration?: number;
  readonly error?: string;
}

const shape: ListShape<FleetRow, "namespace" | "type" | "version" | "replica" | "state"> = {
  columns: {
    proxy: ({ proxy }) => proxy,
    namespace: ({ namespace }) => namespace,
    type: ({ type }) => type,
    version: ({ version }) => version,
    replica: ({ replica }) => replica,
    connectedAt: ({ connectedAt }) => connectedAt,
    state: ({ state }) => state,
  },
  facets: {
    namespace: ({ namespace }) => namespace,
    type: ({ type }) => type,
    version: ({ version }) => version,
    replica: ({ replica }) => replica,
    state: ({ state }) => state,
  },
  text: ({ proxy, type, version, cluster, replica, peer, state }) =>
    `${proxy} ${type} ${version} ${cluster} ${replica} ${peer} ${state}`,
  sort: "proxy",
};

/** Open consoles ask within a few milliseconds after the same event: their questions share the rows. An event takes longer to reach them. */
const sharedForMs = 100;

/** Rows of the whole fleet, read once for concurrent requests. @param replica the name of this one */
export function createFleetRows(
  fleet: Pick<FleetStatus, "byReplica">,
  replica: string,
  nowMs: () => number = () => performance.now(),
): () => Promise<readonly FleetRow[]> {
  let shared: { readonly atMs: number; readonly rows: Promise<readonly FleetRow[]> } | undefined;
  return async () => {
    if (shared === undefined || nowMs() - shared.atMs >= sharedForMs) {
      const read = fleet.byReplica().then((proxies) => proxies.map((one) => rowOf(one, replica)));
      shared = { atMs: nowMs(), rows: read };
    }
    const { rows: asked } = shared;
    try {
      return await asked;
    } catch (error) {
      if (shared?.rows === asked) shared = undefined;
      throw error;
    }
  };
}

export function fleetPage(rows: () => Promise<readonly FleetRow[]>): DebugPage {
  return {
    path: "fleet",
    help: "the proxies of the fleet as a list: ?search=&type=&version=&replica=&namespace=&state=&sort=&offset=&limit=",
    scope: "namespace",
    answer: async ({ query, viewer }) => {
      const seen = (await rows()).filter(({ namespace }) => maySee(viewer, namespace));
      const page = listPage(seen, shape, query);
      return "problem" in page ? { status: 400, json: { error: page.problem } } : { json: page };
    },
  };
}

const knownRows = new WeakMap<ProxyStatus, FleetRow>();

/** Returns the identical row object for an unchanged proxy. */
function rowOf({ status, replica: placed }: PlacedProxy, own: string): FleetRow {
  const replica = placed ?? own;
  const known = knownRows.get(status);
  if (known?.replica === replica) return known;
  const row = buildRow(status, replica);
  knownRows.set(status, row);
  return row;
}

function buildRow(status: ProxyStatus, replica: string): FleetRow {
  const { proxy, namespace, type, istioVersion: version, clusterId: cluster, peer, connectedAtMs, types } = status;
  const rows = typeRows(types);
  return {
    ...{ proxy, namespace, type, version, cluster, peer, replica },
    connectedAt: new Date(connectedAtMs).toISOString(),
    state: worst(Object.values(rows)),
    types: rows,
  };
}

const known = new WeakMap<ProxyStatus["types"], Readonly<Record<string, TypeRow>>>();

/** Proxies to which the same happened share the object. */
function typeRows(types: ProxyStatus["types"]): Readonly<Record<string, TypeRow>> {
  const before = known.get(types);
  if (before !== undefined) return before;
  const rows = Object.fromEntries(Object.entries(types).map(([url, status]) => [shownType(url), typeRow(status)]));
  known.set(types, rows);
  return rows;
}

function typeRow({ version, sent, acked, sentAtMs, sentPosition, ackedPosition, error }: TypeStatus): TypeRow {
  return {
    state: error !== undefined ? "rejected" : sent === acked ? "synced" : "sending",
    ...(version !== undefined && { version }),
    ...(sentAtMs !== undefined && { sentAt: new Date(sentAtMs).toISOString() }),
    ...(sentPosition !== undefined && { sentGeneration: sentPosition }),
    ...(ackedPosition !== undefined && { ackedGeneration: ackedPosition }),
    ...(error !== undefined && { error }),
  };
}

function worst(types: readonly TypeRow[]): SyncState {
  if (types.some(({ state }) => state === "rejected")) return "rejected";
  return types.some(({ state }) => state === "sending") ? "sending" : "synced";
}
