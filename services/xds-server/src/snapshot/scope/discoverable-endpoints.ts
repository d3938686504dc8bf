/**
 * Which endpoints of a service callers of a cluster may know of: those of a cluster-local service are for callers of their own
 * cluster, and with ENABLE_MCS_SERVICE_DISCOVERY so are those whose cluster does not export the service.
 * Source: Istio's MeshConfig reference (serviceSettings), Kubernetes' multi-cluster services API.
 */
import {
  type ClusterLocalRule,
  clusterLocalRules,
  compareText,
  type Endpoint,
  type GatewayApiSpec,
  gatewayOfNetwork,
  isClusterLocal,
  type NetworkGateway,
  ownValue,
  type Service,
} from "@flotilla/model";
import { type EndpointShards, type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";

const clusterSetSuffix = ".svc.clusterset.local";

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

/** By shard, of the service under this host. */
export function discoverableEndpoints(view: View, service: Pick<Service, "namespace" | "hostname">): EndpointShards {
  const isPerCluster = view.feature("mcsServiceDiscovery");
  if (!isPerCluster && !view.read(isLocalHost, service.hostname)) return view.endpoints(service);
  return view.read(endpointsForCluster, serviceText.write(service));
}

const endpointsForCluster = query<EndpointShards, ServiceText>(
  "endpoints-for-cluster",
  (view, text) => {
    const service = serviceText.read(text);
    const { hostname } = service;
    const isLocal = view.read(isLocalHost, hostname) || isLocalByMcs(view, hostname);
    const isSeen = ({ clusterId, isClusterOnly }: Endpoint) =>
      clusterId === view.proxy.clusterId || !(isLocal || isClusterOnly === true);
    const shards = [...view.endpoints(service)];
    return new Map(shards.map(([shard, endpoints]) => [shard, kept(endpoints, isSeen)]));
  },
  sameShards,
);

/** With ENABLE_MCS_CLUSTER_LOCAL the other host, of the cluster set, means the services of all clusters. */
function isLocalByMcs(view: View, hostname: string): boolean {
  return view.feature("mcsClusterLocal") && !hostname.endsWith(clusterSetSuffix);
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

/** Gateways through which a network is reached from others: of MeshNetworks, and services and Gateways labelled with their network. */
const networkLabel = "topology.istio.io/network";
const portLabel = "networking.istio.io/gatewayPort";
const defaultPort = 15443;

/** By network, each in order of address and port. */
export const networkGateways = query<ReadonlyMap<string, readonly NetworkGateway[]>>(
  "network-gateways",
  (view) => {
    const found: NetworkGateway[] = [];
    for (const [network, { gateways, endpoints }] of Object.entries(view.networks?.networks ?? {})) {
      const clusters = new Set(endpoints.flatMap(({ ne }) => (ne.case === "fromRegistry" ? [ne.value] : [])));
      for (const { gw, port } of gateways) {
        if (gw.case === "address") found.push({ network, clusterId: "", address: gw.value, port });
        // A service leads into the network from the clusters that are part of it, whatever other clusters have of it.
        else if (gw.case === "registryServiceName") {
          const services = shardsOfHost(view, gw.value).flatMap((service) => addressesOf(service, network, port));
          found.push(...services.filter(({ clusterId }) => clusters.has(clusterId)));
        }
      }
    }
    for (const name of view.serviceNames) found.push(...view.read(labelledGateways, serviceText.write(name)));
    if (view.feature("discoverGatewayApiNetworkGateways")) found.push(...view.read(gatewayApiGateways));
    found.sort((a, b) => compareText(a.address, b.address) || a.port - b.port);
    return Map.groupBy(distinct(found), ({ network }) => network);
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

function shardsOfHost(view: View, hostname: string): readonly Service[] {
  return view.servicesByHost(hostname).flatMap((name) => [...view.serviceShards(name).values()]);
}

/**
 * Gateways that name their addresses, such as those of class istio-remote, which stand for another network's. Ones that are
 * deployed for us have a Service with their labels, and other clusters' come as such.
 */
const gatewayApiGateways = query<readonly NetworkGateway[]>(
  "gateway-api-network-gateways",
  (view) =>
    view.all<GatewayApiSpec>("KubernetesGateway").flatMap(({ labels, spec }) => {
      const gateway = gatewayOfNetwork(labels, spec);
      if (gateway === undefined) return [];
      const { network, addresses, ports, hbonePorts } = gateway;
      const clusterId = labels["topology.istio.io/cluster"] ?? "";
      return addresses.flatMap((address) => [
        ...ports.map((port) => ({ network, clusterId, address, port })),
        ...hbonePorts.map((port) => ({ network, clusterId, address, port, isHbone: true })),
      ]);
    }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Each cluster labels its own part of a service. */
const labelledGateways = query<readonly NetworkGateway[], ServiceText>(
  "labelled-gateways",
  (view, text) => {
    return [...view.serviceShards(serviceText.read(text)).values()].flatMap((service) => {
      const network = service.labels[networkLabel] ?? "";
      return network === "" ? [] : addressesOf(service, network, Number(service.labels[portLabel] ?? defaultPort));
    });
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** A node port service is reached at nodes, by another port than its own. */
function addressesOf(
  { clusterExternalAddresses = {}, clusterExternalPorts = {} }: Service,
  network: string,
  servicePort: number,
): readonly NetworkGateway[] {
  return Object.entries(clusterExternalAddresses).flatMap(([clusterId, addresses]) => {
    const port = ownValue(clusterExternalPorts, clusterId)?.[servicePort] ?? servicePort;
    return addresses.map((address) => ({ network, clusterId, address, port }));
  });
}

/** MeshNetworks may name a service that is labelled as well. */
function distinct(gateways: readonly NetworkGateway[]): readonly NetworkGateway[] {
  const key = ({ network, address, port, isHbone }: NetworkGateway) => `${network} ${address} ${port} ${isHbone}`;
  return [...new Map(gateways.map((gateway) => [key(gateway), gateway])).values()];
}
