/** Endpoints of other networks are reached through those networks' gateways, by mutual TLS only. */
import type { Endpoint, NetworkGateway } from "@flotilla/model";

export type GatewaysByNetwork = ReadonlyMap<string, readonly NetworkGateway[]>;

/**
 * The endpoints as seen from `network`: those that are out of reach are replaced by gateways with their weight.
 * Endpoints without an address can be reached by a gateway only.
 */
export function splitHorizon(
  endpoints: readonly Endpoint[],
  network: string,
  gateways: GatewaysByNetwork,
): readonly Endpoint[] {
  const scale = [...gateways.values()].reduce((product, { length }) => leastCommonMultiple(product, length), 1);
  const seen: Endpoint[] = [];
  const remote = new Map<NetworkGateway, number>();
  for (const endpoint of endpoints) {
    const weight = Math.max(endpoint.weight, 1) * scale;
    const ways = gatewaysFor(endpoint, network, gateways);
    if (ways.length === 0 && endpoint.addresses[0] === "") continue;
    if (ways.length === 0) seen.push(scale === 1 ? endpoint : { ...endpoint, weight });
    // A gateway routes by SNI: what does not speak the mesh's TLS cannot be reached through it.
    else if (endpoint.tlsMode === "istio")
      for (const way of ways) remote.set(way, (remote.get(way) ?? 0) + weight / ways.length);
  }
  const byAddress = [...remote].sort(([a], [b]) => (a.address < b.address ? -1 : 1));
  return [...seen, ...byAddress.map(([gateway, weight]) => gatewayEndpoint(gateway, weight))];
}

function gatewaysFor(
  { network: there, clusterId }: Endpoint,
  network: string,
  gateways: GatewaysByNetwork,
): readonly NetworkGateway[] {
  if (there === "" || there === network) return [];
  const all = gateways.get(there) ?? [];
  const ofCluster = all.filter((gateway) => gateway.clusterId === clusterId);
  return ofCluster.length > 0 ? ofCluster : all;
}

function gatewayEndpoint({ address, port, clusterId, network }: NetworkGateway, weight: number): Endpoint {
  return {
    addresses: [address],
    servicePortName: "",
    port,
    labels: {},
    serviceAccount: "",
    network,
    locality: "",
    clusterId,
    weight: Math.ceil(weight),
    tlsMode: "istio",
    namespace: "",
    workloadName: "",
    health: "unknown",
  };
}

function leastCommonMultiple(a: number, b: number): number {
  const divisor = (x: number, y: number): number => (y === 0 ? x : divisor(y, x % y));
  return (a * b) / divisor(a, b);
}
