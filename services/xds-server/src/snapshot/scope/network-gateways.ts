/** Gateways through which a network is reached from others: of MeshNetworks, and services labelled with their network. */
import { compareText } from "@flotilla/model";
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
        .flatMap((service) => addressesOf(service.clusterExternalAddresses, network, port));
    for (const [network, { gateways }] of Object.entries(view.networks?.networks ?? {})) {
      for (const { gw, port } of gateways) {
        if (gw.case === "address") found.push({ network, clusterId: "", address: gw.value, port });
        else if (gw.case === "registryServiceName") found.push(...ofService(network, gw.value, port));
      }
    }
    for (const { labels, clusterExternalAddresses } of services) {
      const network = labels[networkLabel];
      if (network === undefined || network === "") continue;
      found.push(...addressesOf(clusterExternalAddresses, network, Number(labels[portLabel] ?? defaultPort)));
    }
    found.sort((a, b) => compareText(a.address, b.address) || a.port - b.port);
    return Map.groupBy(found, ({ network }) => network);
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

function addressesOf(
  byCluster: Readonly<Record<string, readonly string[]>> | undefined,
  network: string,
  port: number,
): readonly NetworkGateway[] {
  return Object.entries(byCluster ?? {}).flatMap(([clusterId, addresses]) =>
    addresses.map((address) => ({ network, clusterId, address, port })),
  );
}
