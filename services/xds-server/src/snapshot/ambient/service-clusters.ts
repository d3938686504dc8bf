/**
 * Services of several clusters as ztunnels call them: the own cluster's, and the parts of other clusters that are global there (visible to
 * callers in other networks; decision 0400). Source: scenario ambient/clusters.
 */
import { isGlobalService, type ScopeRule } from "@flotilla/ambient";
import type { Service } from "@flotilla/model";
import { MeshConfig_ServiceScopeConfigs_Scope as Scope } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { clusterOfShard, type ServiceName } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { sameJson } from "./namespaces.ts";

const scopeRules = query<readonly ScopeRule[]>(
  "service-scope-rules",
  (view) =>
    view.mesh.serviceScopeConfigs.map(({ scope, namespaceSelector, servicesSelector }) => ({
      isGlobal: scope === Scope.GLOBAL,
      namespaces: namespaceSelector,
      services: servicesSelector,
    })),
  sameJson,
);

/** True by the labels of the service and its namespace in its own cluster. A ServiceEntry belongs to one network and is never global. */
function isGlobalPart(view: View, { registry, labels, namespace, remote }: Service): boolean {
  if (registry !== "Kubernetes" || !view.feature("ambientMultiNetwork")) return false;
  const home = remote === undefined ? view.config("Namespace", "", namespace)?.labels : remote.namespaceLabels;
  return isGlobalService(view.read(scopeRules), labels, home);
}

/** Parts that callers of the own cluster may call, by cluster, the own one first. */
function callableParts(view: View, name: ServiceName): readonly (readonly [cluster: string, part: Service])[] {
  const all = [...view.serviceShards(name)]
    .filter(([, { registry }]) => registry === "Kubernetes")
    .map(([key, part]) => [clusterOfShard(key), part] as const);
  const own = all.filter(([, { remote }]) => remote === undefined);
  const others = all.filter(([, part]) => part.remote !== undefined && isGlobalPart(view, part));
  const joins = own.length === 0 || own.some(([, part]) => isGlobalPart(view, part));
  return joins ? [...own, ...others] : own;
}

export interface ClusterService {
  readonly service: Service;
  /** Networks of the addresses in other clusters, by cluster. */
  readonly remoteNetworks: Readonly<Record<string, string>>;
}

/** The service with the addresses of all parts that may be called; undefined where there is none. */
export function acrossClusters(view: View, service: Service): ClusterService | undefined {
  const parts = callableParts(view, service);
  const [first] = parts;
  if (first === undefined) return undefined;
  const definition = parts.some(([, { remote }]) => remote === undefined) ? service : first[1];
  return {
    service: { ...definition, clusterVips: Object.assign({}, ...parts.map(([, { clusterVips }]) => clusterVips)) },
    remoteNetworks: Object.fromEntries(
      parts.flatMap(([cluster, { remote }]) => (remote === undefined ? [] : [[cluster, remote.network]])),
    ),
  };
}

/** The part of another cluster that stands for a service which the own cluster does not have; callers there are bound by its namespace. */
export function foreignPart(
  view: View,
  name: ServiceName,
): { readonly cluster: string; readonly part: Service } | undefined {
  const [first] = callableParts(view, name);
  if (first === undefined || first[1].remote === undefined) return undefined;
  const [cluster, part] = first;
  return { cluster, part };
}

/** Other clusters have all parts of the service: the own one has none, or there is no such service of Kubernetes. */
export function isElsewhereOnly(view: View, name: ServiceName): boolean {
  const parts = [...view.serviceShards(name).values()].filter(({ registry }) => registry === "Kubernetes");
  return parts.length > 0 && parts.every(({ remote }) => remote !== undefined);
}

/** True where its workloads in other networks are called through gateways. */
export function isGlobal(view: View, name: ServiceName): boolean {
  return callableParts(view, name).some(([, part]) => isGlobalPart(view, part));
}

/** True where a workload of the cluster may belong to the service: another cluster's part has to be global. */
export function isServedIn(view: View, name: ServiceName, clusterId: string): boolean {
  const parts = kubernetesParts(view, name);
  if (parts.length === 0) return true;
  const part = parts.find(([key]) => clusterOfShard(key) === clusterId)?.[1];
  return part !== undefined && (part.remote === undefined || isGlobalPart(view, part));
}

/** The part that selects the workloads of another cluster and names their ports. */
export function remotePart(view: View, name: ServiceName, clusterId: string): Service | undefined {
  return kubernetesParts(view, name).find(([key]) => clusterOfShard(key) === clusterId)?.[1];
}

function kubernetesParts(view: View, name: ServiceName) {
  return [...view.serviceShards(name)].filter(([, { registry }]) => registry === "Kubernetes");
}
