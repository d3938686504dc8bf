/** Gateways through which a network is reached from others: of MeshNetworks, and services and Gateways labelled with their network. */
import {
  compareText,
  type GatewayApiSpec,
  gatewayOfNetwork,
  isIpAddress,
  type NetworkGateway,
  ownValue,
  type Service,
} from "@flotilla/model";
import { type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";

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
    const takesNames = view.feature("resolvesNetworkGateways");
    const usable = found.filter(({ address }) => takesNames || isIpAddress(address));
    return Map.groupBy(distinct(usable), ({ network }) => network);
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
      const clusterId = labels["topology.istio.io/cluster"] ?? view.feature("clusterId");
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
  "unless-empty",
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
