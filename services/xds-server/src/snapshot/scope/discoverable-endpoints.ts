/**
 * Selects the endpoints of a service that are visible to callers of a cluster: those of a cluster-local service are for callers of their
 * own cluster, and with ENABLE_MCS_SERVICE_DISCOVERY so are those whose cluster does not export the service.
 * Source: Istio's MeshConfig reference (serviceSettings), Kubernetes' multi-cluster services API.
 */
import {
  type ClusterLocalRule,
  clusterLocalRules,
  type Endpoint,
  isClusterLocal,
  isClusterSetHost,
  type Service,
} from "@flotilla/model";
import { isGlobal } from "../ambient/service-clusters.ts";
import { ambientService } from "../ambient/services.ts";
import { type EndpointShards, type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { calledEndpoints, sameShards } from "./called-endpoints.ts";

const localRules = query<readonly ClusterLocalRule[]>(
  "cluster-local-rules",
  (view) =>
    clusterLocalRules({
      serviceSettings: view.mesh.serviceSettings,
      discoveryAddress: view.mesh.defaultConfig?.discoveryAddress ?? "",
      domain: view.feature("domainSuffix"),
    }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

const isLocalHost = query<boolean, string>("is-cluster-local", (view, hostname) =>
  isClusterLocal(view.read(localRules), hostname),
);

/** Endpoints of all clusters, as far as they let callers of others see them, or of the caller's own. */
export type EndpointScope = "all" | "discoverable" | "cluster";

/** Endpoints of the service do not change it. */
export function endpointScope(view: View, service: Service): EndpointScope {
  if (view.read(isCalledInCluster, serviceText.write(service))) return "cluster";
  return dependsOnCluster(view, service) ? "discoverable" : "all";
}

/** By shard. */
export function endpointsIn(view: View, service: Service, scope: EndpointScope): EndpointShards {
  if (scope === "cluster") return view.read(endpointsInCluster, serviceText.write(service));
  return scope === "discoverable" ? discoverableEndpoints(view, service) : calledEndpoints(view, service);
}

/** True where different endpoints may be visible to callers of different clusters; endpoints do not change that. */
function dependsOnCluster(view: View, { hostname }: Pick<Service, "hostname">): boolean {
  return view.feature("mcsServiceDiscovery") || view.read(isLocalHost, hostname);
}

/**
 * In an ambient mesh of several networks a service that is not global is called in its own cluster alone: nothing of it is visible to other
 * networks. Its name stays the same for callers of all clusters. Source: istiod asked, scenario ambient/joined-waypoints.
 */
const isCalledInCluster = query<boolean, ServiceText>("is-called-in-cluster", (view, text) => {
  if (!view.feature("ambient") || !view.feature("ambientMultiNetwork")) return false;
  return view.read(ambientService, text) !== undefined && !isGlobal(view, serviceText.read(text));
});

/** By shard, of those that callers of the proxy's cluster call where `isCalledInCluster` holds for the service. */
const endpointsInCluster = query<EndpointShards, ServiceText>(
  "endpoints-in-cluster",
  (view, text) => {
    const isSeen = ({ clusterId }: Endpoint) => clusterId === view.proxy.clusterId;
    const shards = [...discoverableEndpoints(view, serviceText.read(text))];
    return new Map(shards.map(([shard, endpoints]) => [shard, kept(endpoints, isSeen)]));
  },
  sameShards,
);

/** By shard, of the service under this host. */
export function discoverableEndpoints(view: View, service: Pick<Service, "namespace" | "hostname">): EndpointShards {
  return dependsOnCluster(view, service)
    ? view.read(endpointsForCluster, serviceText.write(service))
    : calledEndpoints(view, service);
}

const endpointsForCluster = query<EndpointShards, ServiceText>(
  "endpoints-for-cluster",
  (view, text) => {
    const service = serviceText.read(text);
    const { hostname } = service;
    const isLocal = view.read(isLocalHost, hostname) || isLocalByMcs(view, hostname);
    const isSeen = ({ clusterId, isClusterOnly }: Endpoint) =>
      clusterId === view.proxy.clusterId || !(isLocal || isClusterOnly === true);
    const shards = [...calledEndpoints(view, service)];
    return new Map(shards.map(([shard, endpoints]) => [shard, kept(endpoints, isSeen)]));
  },
  sameShards,
);

/** With ENABLE_MCS_CLUSTER_LOCAL the other host, of the cluster set, means the services of all clusters. */
function isLocalByMcs(view: View, hostname: string): boolean {
  return view.feature("mcsClusterLocal") && !isClusterSetHost(hostname);
}

function kept(endpoints: readonly Endpoint[], isSeen: (endpoint: Endpoint) => boolean): readonly Endpoint[] {
  return endpoints.every(isSeen) ? endpoints : endpoints.filter(isSeen);
}
