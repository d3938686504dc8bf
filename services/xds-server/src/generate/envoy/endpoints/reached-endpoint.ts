/**
 * How an endpoint is reached: directly, through HBONE tunnels (its own or its ztunnel's, a waypoint's), or through a gateway of its
 * network, by such tunnels or by mutual TLS.
 */
import {
  compareText,
  type Endpoint,
  type IpMode,
  isIpAddress,
  isIpv6,
  type NetworkGateway,
  ownValue,
} from "@flotilla/model";

/**
 * Endpoints that are called by HBONE: none, those that take it and not the mesh's TLS, or all that take it. Clusters from a waypoint to the
 * services behind it have one transport for all endpoints, which need not be marked there. An east-west gateway passes on the tunnels of its callers instead of opening some.
 */
export type TunnelUse = "none" | "without-mesh-tls" | "preferred" | "waypoint" | "east-west";

export interface Tunnel {
  /** Where connections arrive within Envoy. */
  readonly listener: "connect_originate" | "inner_connect_originate" | "forward_inner_connect";
  /** The destination of the tunnel, and the waypoint that it ends at. */
  readonly local: string;
  readonly waypoint?: string;
  /** The service that a tunnel within a tunnel is for, as `host:port`. */
  readonly target?: string;
}

/** An endpoint as it is called. */
export interface ReachedEndpoint extends Endpoint {
  readonly tunnel?: Tunnel;
  /** It takes the mesh's TLS, which a rule or policy rules out: as in istiod, HBONE does not take its place. */
  readonly lostMeshTls?: true;
}

const managedLabel = "gateway.istio.io/managed";
const waypointController = "istio.io-mesh-controller";

/** By a tunnel's end of its own, by its node's ztunnel or, for a waypoint, by what it is. */
export function takesHbone({ takesHbone: isCaptured, labels }: Pick<Endpoint, "takesHbone" | "labels">): boolean {
  return isCaptured === true || labels[managedLabel] === waypointController;
}

/** True where the workload's label declares it; otherwise the ztunnel of its node ends them. */
export function endsTunnelsItself({ labels }: Pick<Endpoint, "labels">): boolean {
  return labels["networking.istio.io/tunnel"] === "http";
}

/** A service behind a waypoint as `address:port`: each cluster's waypoint knows it by its address there. */
export interface WaypointDestinations {
  readonly any: string;
  readonly ofClusters: Readonly<Record<string, string>>;
}

/** An endpoint of the waypoint as the way to the service behind it. */
export function throughWaypoint(endpoint: ReachedEndpoint, { any, ofClusters }: WaypointDestinations): ReachedEndpoint {
  const local = ownValue(ofClusters, endpoint.clusterId) ?? any;
  const waypoint = addressText(endpoint.addresses[0] ?? "", endpoint.port);
  return { ...endpoint, tunnel: { listener: "connect_originate", local, waypoint } };
}

export function withTunnel(endpoint: ReachedEndpoint, tunnels: TunnelUse): ReachedEndpoint {
  const own = addressText(endpoint.addresses[0] ?? "", endpoint.port);
  if (tunnels === "none" || !takesHbone(endpoint)) return endpoint;
  if (tunnels === "without-mesh-tls" && (endpoint.tlsMode === "istio" || endpoint.lostMeshTls)) return endpoint;
  const listener = tunnels === "east-west" ? "forward_inner_connect" : "connect_originate";
  return { ...endpoint, tunnel: { listener, local: own } };
}

/** Through a gateway that takes HBONE; undefined for one that takes the mesh's TLS only. */
export function gatewayTunnel({ address, hbonePort }: NetworkGateway, target: string): Tunnel | undefined {
  if (target === "" || hbonePort === undefined) return undefined;
  return { listener: "inner_connect_originate", local: addressText(address, hbonePort), target };
}

/** IPv6 in brackets. */
export function addressText(address: string, port: number): string {
  return isIpv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

export type GatewaysByNetwork = ReadonlyMap<string, readonly NetworkGateway[]>;

/**
 * How endpoints of other networks are called: through gateways that route by the SNI of the mesh's TLS or end tunnels, without one directly
 * (`direct-or-gateway`) or not (`gateway-only`); by tunnels alone, else not; or not at all.
 */
export type FarCalls = "direct-or-gateway" | "gateway-only" | "tunnels" | "never";

export interface Horizon {
  readonly network: string;
  readonly gateways: GatewaysByNetwork;
  readonly farCalls?: FarCalls;
  /** Families of addresses that the proxy has; without it, both. */
  readonly ipMode?: IpMode;
  /** The proxy resolves names of gateways itself; Envoy refuses all endpoints that it is sent where one of them is a name. */
  readonly resolvesNames?: boolean;
  /** See `EndpointInputs`. */
  readonly remoteTarget?: string;
}

/**
 * The endpoints as seen from `network`: those that are out of reach are replaced by gateways with their weight.
 * Endpoints without an address can be reached by a gateway only.
 */
export function splitHorizon(endpoints: readonly ReachedEndpoint[], horizon: Horizon): readonly ReachedEndpoint[] {
  const { network, farCalls = "direct-or-gateway", remoteTarget = "" } = horizon;
  const takesAny = farCalls === "direct-or-gateway" || farCalls === "gateway-only";
  const gateways = takesAny ? horizon.gateways : withAddresses(horizon.gateways);
  const scale = weightScale(gateways);
  const seen: ReachedEndpoint[] = [];
  const remote = new Map<NetworkGateway, number>();
  const tunnelled = new Map<NetworkGateway, number>();
  for (const endpoint of endpoints) {
    const weight = Math.max(endpoint.weight, 1) * scale;
    const found = gatewaysFor(endpoint, network, gateways);
    const fitting = found.filter(takesAny ? leadsSidecars : ({ hbonePort }) => hbonePort !== undefined);
    const ways = fitting.filter(({ address }) => isReachable(address, horizon));
    if (fitting.length > 0 && ways.length === 0) continue;
    if (farCalls !== "direct-or-gateway" && isFar(endpoint, network) && (farCalls === "never" || ways.length === 0))
      continue;
    if (ways.length === 0 && endpoint.addresses[0] === "") continue;
    if (ways.length === 0) seen.push(scale === 1 ? endpoint : { ...endpoint, weight });
    else {
      const takesTunnels = !takesAny || takesHbone(endpoint);
      const usable = ways.filter((way) => takesTunnels && gatewayTunnel(way, remoteTarget) !== undefined);
      // Other gateways route by SNI: endpoints without the mesh's TLS cannot be reached through them.
      const routing = endpoint.tlsMode === "istio" ? ways.filter(({ port }) => port !== 0) : [];
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

/** A labelled Service that takes HBONE alone is no gateway for sidecars, so that they call directly; a Gateway is one that they cannot use. */
function leadsSidecars({ port, gateway }: NetworkGateway): boolean {
  return port !== 0 || gateway !== undefined;
}

/** Weights that gateways of any network, or of a cluster in it, share without a rest. */
function weightScale(gateways: GatewaysByNetwork): number {
  const counts = [...gateways.values()].flatMap((all) => [
    all.length,
    ...[...Map.groupBy(all, ({ clusterId }) => clusterId).values()].map(({ length }) => length),
  ]);
  return counts.reduce(leastCommonMultiple, 1);
}

function isReachable(address: string, { ipMode = "dual", resolvesNames = false }: Horizon): boolean {
  if (!isIpAddress(address)) return resolvesNames;
  return ipMode === "dual" || isIpv6(address) === (ipMode === "ipv6");
}

/** A proxy that does not report its network calls all of them directly where no gateway is known. */
function isFar({ network: there }: Endpoint, network: string): boolean {
  return there !== "" && network !== "" && there !== network;
}

/** Tunnels end at addresses; names of gateways are not resolved. */
function withAddresses(gateways: GatewaysByNetwork): GatewaysByNetwork {
  const found = [...gateways].map(([name, all]) => [name, all.filter(({ address }) => isIpAddress(address))] as const);
  return new Map(found.filter(([, all]) => all.length > 0));
}

function byAddress(weights: ReadonlyMap<NetworkGateway, number>) {
  return [...weights].sort(([a], [b]) => compareText(a.address, b.address) || a.port - b.port);
}

function tunnelledGateway(gateway: NetworkGateway, weight: number, target: string): ReachedEndpoint {
  const tunnel = gatewayTunnel(gateway, target);
  const { hbonePort: port = 0 } = gateway;
  return { ...gatewayEndpoint(gateway, weight), port, tlsMode: "disabled", ...(tunnel && { tunnel }) };
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
