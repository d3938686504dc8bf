/** Endpoints of other networks are reached through those networks' gateways, by mutual TLS only. */
import type { Endpoint, NetworkGateway } from "@flotilla/model";

import { gatewayTunnel, type ReachedEndpoint, takesHbone } from "./tunnels.ts";

export type GatewaysByNetwork = ReadonlyMap<string, readonly NetworkGateway[]>;

export interface Horizon {
  readonly network: string;
  readonly gateways: GatewaysByNetwork;
  /** See `EndpointInputs`. */
  readonly remoteTarget?: string;
}

/**
 * The endpoints as seen from `network`: those that are out of reach are replaced by gateways with their weight.
 * Endpoints without an address can be reached by a gateway only.
 */
export function splitHorizon(endpoints: readonly ReachedEndpoint[], horizon: Horizon): readonly ReachedEndpoint[] {
  const { network, gateways, remoteTarget = "" } = horizon;
  const scale = [...gateways.values()].reduce((product, { length }) => leastCommonMultiple(product, length), 1);
  const seen: ReachedEndpoint[] = [];
  const remote = new Map<NetworkGateway, number>();
  const tunnelled = new Map<NetworkGateway, number>();
  for (const endpoint of endpoints) {
    const weight = Math.max(endpoint.weight, 1) * scale;
    const ways = gatewaysFor(endpoint, network, gateways);
    if (ways.length === 0 && endpoint.addresses[0] === "") continue;
    if (ways.length === 0) seen.push(scale === 1 ? endpoint : { ...endpoint, weight });
    else {
      const usable = ways.filter((way) => gatewayTunnel(way, remoteTarget) !== undefined && takesHbone(endpoint));
      // Other gateways route by SNI: what does not speak the mesh's TLS cannot be reached through them.
      const routing = endpoint.tlsMode === "istio" ? ways.filter(({ isHbone }) => isHbone !== true) : [];
      const shares = usable.length > 0 ? { of: tunnelled, over: usable } : { of: remote, over: routing };
      for (const way of shares.over) shares.of.set(way, (shares.of.get(way) ?? 0) + weight / shares.over.length);
    }
  }
  return [
    ...seen,
    ...byAddress(remote).map(([gateway, weight]) => gatewayEndpoint(gateway, weight)),
    ...byAddress(tunnelled).map(([gateway, weight]) => tunnelledGateway(gateway, weight, remoteTarget)),
  ];
}

function byAddress(weights: ReadonlyMap<NetworkGateway, number>) {
  return [...weights].sort(([a], [b]) => (a.address < b.address ? -1 : 1));
}

function tunnelledGateway(gateway: NetworkGateway, weight: number, target: string): ReachedEndpoint {
  const tunnel = gatewayTunnel(gateway, target);
  return { ...gatewayEndpoint(gateway, weight), ...(tunnel && { tunnel }) };
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
