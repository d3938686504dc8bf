/**
 * Services of several networks: selects those that are visible to other networks, and represents their workloads there to a ztunnel as one
 * workload behind the network's gateway. Source: scenario ambient/split-horizon.
 */
import {
  type LabelSelector,
  type Labels,
  matchesSelector,
  type Protocol,
  type WorkloadMembership,
} from "@flotilla/model";
import type { ServiceFacts, WorkloadFacts } from "./facts.ts";
import type { HboneGateway } from "./network-gateway.ts";

/** MeshConfig's `serviceScopeConfigs`. */
export interface ScopeRule {
  readonly isGlobal: boolean;
  /** Undefined: any. */
  readonly namespaces: LabelSelector | undefined;
  readonly services: LabelSelector | undefined;
}

/** True where a service is visible to callers of other networks. Services of a missing namespace are not visible. */
export function isGlobalService(
  rules: readonly ScopeRule[],
  labels: Labels,
  namespaceLabels: Labels | undefined,
): boolean {
  if (namespaceLabels === undefined) return false;
  return rules.some(
    ({ isGlobal, namespaces = {}, services = {} }) =>
      isGlobal && matchesSelector(namespaces, namespaceLabels) && matchesSelector(services, labels),
  );
}

/** The workloads of a service in another network, together. */
export interface FarWorkloads {
  readonly network: string;
  /** Shares of the load; a workload that names none has one. */
  readonly capacity: number;
  /** SPIFFE identities. */
  readonly identities: readonly string[];
}

/** Of each service, by `namespace/hostname`. @param trustDomain of the mesh */
export function farWorkloads(
  workloads: readonly WorkloadFacts[],
  trustDomain: string,
): ReadonlyMap<string, readonly FarWorkloads[]> {
  const pairs = workloads.flatMap((workload) =>
    workload.services.map((service) => [nameOf(service), workload] as const),
  );
  const byService = Map.groupBy(pairs, ([name]) => name);
  return new Map(
    [...byService].map(([name, found]) => [
      name,
      byNetwork(
        found.map(([, workload]) => workload),
        trustDomain,
      ),
    ]),
  );
}

function byNetwork(workloads: readonly WorkloadFacts[], trustDomain: string): readonly FarWorkloads[] {
  const groups = [...Map.groupBy(workloads, ({ network }) => network)];
  return groups.map(([network, found]) => ({
    network,
    capacity: found.reduce((sum, { capacity = 0 }) => sum + Math.max(capacity, 1), 0),
    identities: [
      ...new Set(
        found.map(({ namespace, serviceAccount }) => `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`),
      ),
    ].sort(),
  }));
}

function nameOf({ namespace, hostname }: WorkloadMembership): string {
  return `${namespace}/${hostname}`;
}

/** The workload that the ztunnels of this network call instead of them. @param clusterId of the cluster whose Gateway it is */
export function splitHorizonWorkload(
  service: ServiceFacts,
  { network, capacity }: FarWorkloads,
  gateway: HboneGateway,
  { trustDomain, clusterId }: { readonly trustDomain: string; readonly clusterId: string },
): WorkloadFacts {
  const { namespace, hostname, ports } = service;
  const { destination, port } = gateway;
  const address = "hostname" in destination ? destination.hostname : destination.address;
  const uid = `${network}/SplitHorizonWorkload/${gateway.namespace}/${gateway.name}/${address}/${namespace}/${hostname}`;
  return {
    ...{ uid, name: uid, namespace, network, trustDomain, clusterId, capacity, addresses: [], hostname: "" },
    ...{ tunnel: "hbone", serviceAccount: "", canonicalName: "", canonicalRevision: "", workloadName: "", isPod: true },
    ...{ node: "", isHealthy: true, hostNetwork: false, policies: [], networkGateway: { destination, port } },
    services: [{ namespace, hostname, ports: ports.map(servedPort) }],
  };
}

/** As the service itself has it, with its protocol. */
function servedPort({ number, target = 0, protocol }: ServiceFacts["ports"][number]): ServedPort {
  return { servicePort: number, targetPort: target, protocol };
}

interface ServedPort {
  readonly servicePort: number;
  readonly targetPort: number;
  readonly protocol: Protocol;
}
