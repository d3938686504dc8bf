/** Gateways through which a network is reached from others: of MeshNetworks, and services and Gateways labelled with their network. */
import {
  compareText,
  type GatewayApiSpec,
  gatewayOfNetwork,
  hbonePort,
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

type GatewaysByNetwork = ReadonlyMap<string, readonly NetworkGateway[]>;

const sameGateways = (a: GatewaysByNetwork | undefined, b: GatewaysByNetwork) =>
  a !== undefined && JSON.stringify([...a]) === JSON.stringify([...b]);

/** By network, each in order of address and port. */
export const networkGateways = query<GatewaysByNetwork>(
  "network-gateways",
  (view) => {
    const found = [...view.read(addressedGateways), ...view.read(registryGateways)];
    for (const name of view.serviceNames) found.push(...view.read(labelledGateways, serviceText.write(name)));
    if (view.feature("discoverGatewayApiNetworkGateways")) found.push(...view.read(gatewayApiGateways));
    const gateways = byNetwork(view, found);
    reportNames(view, gateways);
    return gateways;
  },
  sameGateways,
);

/** Those of addresses in MeshNetworks: istiod puts no others in the place of endpoints that are names. Source: istiod asked. */
export const gatewaysBeforeNames = query<GatewaysByNetwork>(
  "network-gateways-before-names",
  (view) => byNetwork(view, view.read(addressedGateways)),
  sameGateways,
);

/** Addresses of gateways are sent as endpoints, which Envoy takes as addresses only. */
function reportNames(view: View, gateways: GatewaysByNetwork): void {
  for (const [network, all] of gateways)
    for (const { address } of all.filter((one) => !isIpAddress(one.address)))
      view.report({
        metric: "flotilla_unresolved_network_gateway",
        object: `network/${network}`,
        message: `gateway ${address} is a host name, which is not resolved: endpoints behind it are left out`,
      });
}

function byNetwork(view: View, gateways: readonly NetworkGateway[]): GatewaysByNetwork {
  const takesNames = view.feature("resolvesNetworkGateways");
  const usable = gateways
    .filter(({ address }) => takesNames || isIpAddress(address))
    .toSorted((a, b) => compareText(a.address, b.address) || a.port - b.port);
  return Map.groupBy(distinct(usable), ({ network }) => network);
}

const addressedGateways = query<readonly NetworkGateway[]>(
  "gateways-by-address",
  (view) =>
    Object.entries(view.networks?.networks ?? {}).flatMap(([network, { gateways }]) =>
      gateways.flatMap(({ gw, port }) =>
        gw.case === "address" ? [{ network, clusterId: "", address: gw.value, port }] : [],
      ),
    ),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** A service leads into the network from the clusters that are part of it, whatever other clusters have of it. */
const registryGateways = query<readonly NetworkGateway[]>(
  "gateways-by-service",
  (view) =>
    Object.entries(view.networks?.networks ?? {}).flatMap(([network, { gateways, endpoints }]) => {
      const clusters = new Set(endpoints.flatMap(({ ne }) => (ne.case === "fromRegistry" ? [ne.value] : [])));
      return gateways.flatMap(({ gw, port }) => {
        if (gw.case !== "registryServiceName") return [];
        const services = shardsOfHost(view, gw.value).flatMap((service) => addressesOf(service, network, port));
        return services.filter(({ clusterId }) => clusters.has(clusterId));
      });
    }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
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
    view.all<GatewayApiSpec>("KubernetesGateway").flatMap(({ key, labels, spec }) => {
      const gateway = gatewayOfNetwork(labels, spec);
      if (gateway === undefined) return [];
      const { network, addresses, ports, hbonePorts } = gateway;
      const clusterId = labels["topology.istio.io/cluster"] ?? view.feature("clusterId");
      const common = { network, clusterId, gateway: `${key.namespace}/${key.name}` };
      return addresses.flatMap((address) => [
        ...ports.map((port) => ({ ...common, address, port })),
        // differs: istiod sends the mesh's TLS to every HBONE listener, too, which refuses it.
        ...hbonePorts.map((hbone) => ({
          ...{ ...common, address, hbonePort: hbone },
          port: ports.includes(hbone) ? hbone : 0,
        })),
      ]);
    }),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Each cluster labels its own part of a service, which is a gateway by the ports that it has. */
const labelledGateways = query<readonly NetworkGateway[], ServiceText>(
  "labelled-gateways",
  (view, text) => {
    return [...view.serviceShards(serviceText.read(text)).values()].flatMap((service) => {
      const network = service.labels[networkLabel] ?? "";
      if (network === "") return [];
      const port = portOf(service, Number(service.labels[portLabel] ?? defaultPort));
      const hbone = portOf(service, hbonePort);
      if (port === 0 && hbone === 0) return [];
      return addressesOf(service, network, port).map((gateway) =>
        hbone === 0 ? gateway : { ...gateway, hbonePort: hbone },
      );
    });
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
  "unless-empty",
);

/** 0 where the service does not have it. */
function portOf({ ports }: Service, wanted: number): number {
  return ports.some(({ number }) => number === wanted) ? wanted : 0;
}

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
  const key = ({ network, clusterId, address, port, hbonePort: hbone, gateway }: NetworkGateway) =>
    [network, clusterId, address, port, hbone, gateway].join(" ");
  return [...new Map(gateways.map((gateway) => [key(gateway), gateway])).values()];
}
