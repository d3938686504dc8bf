/** Services with counts of endpoints, and policies by namespace: built on request, cached until an input changes. */
import { type Change, type Endpoint, isUnsupported } from "@flotilla/model";
import type { ChangeLedger } from "./change-ledger.ts";
import { servicesOf } from "./mesh-pages.ts";

/** A service of all clusters. */
export interface ServiceRow {
  readonly hostname: string;
  readonly namespace: string;
  readonly registry: string;
  readonly ports: readonly { readonly name: string; readonly number: number; readonly protocol: string }[];
  readonly endpoints: number;
  readonly healthy: number;
}

/** Kinds of policies that admit or refuse requests. */
export const policyKinds: ReadonlySet<string> = new Set([
  "AuthorizationPolicy",
  "PeerAuthentication",
  "RequestAuthentication",
]);

const registryTypes: ReadonlySet<Change["type"]> = new Set(["service", "endpoints"]);

interface Kept<Value> {
  readonly value: Value;
  /** Number of changes of its inputs when it was built. */
  readonly count: number;
}

export class ServiceTable {
  readonly #inputs: () => Iterable<Change>;
  readonly #ledger: Pick<ChangeLedger, "count">;
  #rows: Kept<readonly ServiceRow[]> | undefined;
  #policies: Kept<ReadonlyMap<string, number>> | undefined;

  constructor(inputs: () => Iterable<Change>, ledger: Pick<ChangeLedger, "count">) {
    this.#inputs = inputs;
    this.#ledger = ledger;
  }

  /** Sorted by host name. */
  rows(): readonly ServiceRow[] {
    const count = this.#ledger.count(registryTypes);
    if (this.#rows?.count !== count) this.#rows = { value: rowsOf(this.#inputs), count };
    return this.#rows.value;
  }

  /** Number of policies by namespace. */
  policies(): ReadonlyMap<string, number> {
    const count = this.#ledger.count(policyKinds);
    if (this.#policies?.count !== count) this.#policies = { value: policiesOf(this.#inputs()), count };
    return this.#policies.value;
  }
}

function rowsOf(inputs: () => Iterable<Change>): readonly ServiceRow[] {
  const counted = countEndpoints(inputs());
  return servicesOf(inputs(), { namespace: undefined }).map(({ hostname, namespace, registry, ports }) => ({
    ...{ hostname, namespace, registry },
    ports: ports.map(({ name, number, protocol }) => {
      return { name, number, protocol: isUnsupported(protocol) ? "UnsupportedProtocol" : protocol };
    }),
    ...(counted.get(`${hostname}/${namespace}`) ?? none),
  }));
}

interface EndpointCounts {
  readonly endpoints: number;
  readonly healthy: number;
}

const none: EndpointCounts = { endpoints: 0, healthy: 0 };

/** Counts of endpoints by host and namespace, over all shards. */
function countEndpoints(inputs: Iterable<Change>): ReadonlyMap<string, EndpointCounts> {
  const counted = new Map<string, EndpointCounts>();
  for (const change of inputs) {
    if (change.type !== "endpoints" || change.op !== "put") continue;
    const service = `${change.key.hostname}/${change.key.namespace}`;
    const [before, own] = [counted.get(service) ?? none, countsOf(change.value)];
    counted.set(service, { endpoints: before.endpoints + own.endpoints, healthy: before.healthy + own.healthy });
  }
  return counted;
}

const known = new WeakMap<readonly Endpoint[], EndpointCounts>();

/** Lists of endpoints are replaced, never changed. */
function countsOf(list: readonly Endpoint[]): EndpointCounts {
  const before = known.get(list);
  if (before !== undefined) return before;
  const healthy = list.filter(({ health }) => health === "unknown" || health === "healthy").length;
  const counts = { endpoints: list.length, healthy };
  known.set(list, counts);
  return counts;
}

function policiesOf(inputs: Iterable<Change>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const change of inputs) {
    if (change.type !== "config" || change.op !== "put" || !policyKinds.has(change.key.kind)) continue;
    const { namespace } = change.key;
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return counts;
}
