/** Gateways through which a network is reached from others: of MeshNetworks, and services labelled with their network. */
import { compareText, type Service } from "@flotilla/model";
import { query } from "../view.ts";
import { allServices } from "./services.ts";

export interface NetworkGateway {
  readonly network: string;
  /** Empty for gateways of MeshNetworks that name no service. */
  readonly clusterId: string;
  readonly address: string;
  readonly port: number;
}

const networkLabel = "topology.istio.io/network";
const portLabel = "networking.istio.io/gatewayPort";
const defaultPort = 15443;

/** By network, each in order of address and port. */
export const networkGateways = query<ReadonlyMap<string, readonly NetworkGateway[]>>(
  "network-gateways",
  (view) => {
    const found: NetworkGateway[] = [];
    const services = view.read(allServices);
    const ofService = (network: string, hostname: string, port: number) =>
      services
        .filter((service) => service.hostname === hostname)
        .flatMap((service) => addressesOf(service, network, port));
    for (const [network, { gateways }] of Object.entries(view.networks?.networks ?? {})) {
      for (const { gw, port } of gateways) {
        if (gw.case === "address") found.push({ network, clusterId: "", address: gw.value, port });
        else if (gw.case === "registryServiceName") found.push(...ofService(network, gw.value, port));
      }
    }
    for (const service of services) {
      const network = service.labels[networkLabel];
      if (network === undefined || network === "") continue;
      found.push(...addressesOf(service, network, Number(service.labels[portLabel] ?? defaultPort)));
    }
    found.sort((a, b) => compareText(a.address, b.address) || a.port - b.port);
    return Map.groupBy(distinct(found), ({ network }) => network);
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

/** A node port service is reached at nodes, by another port than its own. */
function addressesOf(
  { clusterExternalAddresses = {}, clusterExternalPorts = {} }: Service,
  network: string,
  servicePort: number,
): readonly NetworkGateway[] {
  return Object.entries(clusterExternalAddresses).flatMap(([clusterId, addresses]) => {
    const port = clusterExternalPorts[clusterId]?.[servicePort] ?? servicePort;
    return addresses.map((address) => ({ network, clusterId, address, port }));
  });
}

/** MeshNetworks may name a service that is labelled as well. */
function distinct(gateways: readonly NetworkGateway[]): readonly NetworkGateway[] {
  const key = ({ network, address, port }: NetworkGateway) => `${network} ${address} ${port}`;
  return [...new Map(gateways.map((gateway) => [key(gateway), gateway])).values()];
}
