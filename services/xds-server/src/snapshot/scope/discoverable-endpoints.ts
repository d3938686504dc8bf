/**
 * Which endpoints of a service callers of a cluster may know of: those of a cluster-local service are for callers of their own
 * cluster, and with ENABLE_MCS_SERVICE_DISCOVERY so are those whose cluster does not export the service.
 * Source: Istio's MeshConfig reference (serviceSettings), Kubernetes' multi-cluster services API.
 */
import { compareSpecificity, type Endpoint, hostCovers, type Service } from "@flotilla/model";
import type { EndpointShards } from "../keys.ts";
import { query, type View } from "../view.ts";

interface LocalRule {
  readonly host: string;
  readonly isLocal: boolean;
}

const clusterSetSuffix = ".svc.clusterset.local";

/** The most specific rule that matches a host decides; users' rules go before those that hold without any. */
const localRules = query<readonly LocalRule[]>(
  "cluster-local-rules",
  (view) =>
    view.mesh.serviceSettings
      .flatMap(({ hosts, settings }) => hosts.map((host) => ({ host, isLocal: settings?.clusterLocal === true })))
      .sort((a, b) => compareSpecificity(a.host, b.host)),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** The control plane of a cluster, and what belongs to its nodes, is meant as the cluster's own. */
const localUnlessTold = query<readonly string[]>(
  "cluster-local-defaults",
  (view) => {
    const domain = view.setting("DOMAIN_SUFFIX", "cluster.local");
    const [discovery = ""] = (view.mesh.defaultConfig?.discoveryAddress ?? "").split(":");
    const host = discovery.endsWith(".svc") ? `${discovery}.${domain}` : discovery;
    return [`*.kube-system.svc.${domain}`, `kubernetes.default.svc.${domain}`, ...(host === "" ? [] : [host])];
  },
  (a, b) => a.join() === b.join(),
);

const isClusterLocal = query<boolean, string>("is-cluster-local", (view, hostname) => {
  const told = view.read(localRules).find(({ host }) => hostCovers(host, hostname));
  if (told !== undefined) return told.isLocal;
  return view.read(localUnlessTold).some((host) => hostCovers(host, hostname));
});

/** By shard, of the service under this host. */
export function discoverableEndpoints(view: View, service: Pick<Service, "namespace" | "hostname">): EndpointShards {
  const { namespace, hostname } = service;
  const isPerCluster = view.flag("ENABLE_MCS_SERVICE_DISCOVERY", false);
  if (!isPerCluster && !view.read(isClusterLocal, hostname)) return view.endpoints(service);
  return view.read(endpointsForCluster, `${namespace}/${hostname}`);
}

const endpointsForCluster = query<EndpointShards, string>(
  "endpoints-for-cluster",
  (view, text) => {
    const [namespace = "", hostname = ""] = text.split("/");
    const isLocal = view.read(isClusterLocal, hostname) || isLocalByMcs(view, hostname);
    const isSeen = ({ clusterId, isClusterOnly }: Endpoint) =>
      clusterId === view.proxy.clusterId || !(isLocal || isClusterOnly === true);
    const shards = [...view.endpoints({ namespace, hostname })];
    return new Map(shards.map(([shard, endpoints]) => [shard, kept(endpoints, isSeen)]));
  },
  sameShards,
);

/** With ENABLE_MCS_CLUSTER_LOCAL the other host, of the cluster set, means the services of all clusters. */
function isLocalByMcs(view: View, hostname: string): boolean {
  return view.flag("ENABLE_MCS_CLUSTER_LOCAL", false) && !hostname.endsWith(clusterSetSuffix);
}

function kept(endpoints: readonly Endpoint[], isSeen: (endpoint: Endpoint) => boolean): readonly Endpoint[] {
  return endpoints.every(isSeen) ? endpoints : endpoints.filter(isSeen);
}

function sameShards(a: EndpointShards, b: EndpointShards): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([shard, endpoints]) => {
    const others = b.get(shard);
    return others?.length === endpoints.length && endpoints.every((endpoint, index) => endpoint === others[index]);
  });
}
