/** Endpoints that are reached through HBONE tunnels: their own or their ztunnel's, a waypoint's, or another network's gateway's. */
import { type Endpoint, isIpv6, type NetworkGateway } from "@flotilla/model";

/**
 * Which endpoints are called by HBONE: none, those that take it and not the mesh's TLS, or all that take it. Clusters from a
 * waypoint to the services behind it have one transport for all endpoints, which need not be marked there.
 */
export type TunnelUse = "none" | "without-mesh-tls" | "preferred" | "waypoint";

export interface Tunnel {
  /** Where connections arrive within Envoy. */
  readonly listener: "connect_originate" | "inner_connect_originate";
  /** What the tunnel leads to, and the waypoint that it ends at. */
  readonly local: string;
  readonly waypoint?: string;
  /** The service that a tunnel within a tunnel is for, as `host:port`. */
  readonly target?: string;
}

/** An endpoint as it is called. */
export interface ReachedEndpoint extends Endpoint {
  readonly tunnel?: Tunnel;
}

const managedLabel = "gateway.istio.io/managed";
const waypointController = "istio.io-mesh-controller";

/** By a tunnel's end of its own, by its node's ztunnel or, for a waypoint, by what it is. */
export function takesHbone({ takesHbone: isCaptured, labels }: Pick<Endpoint, "takesHbone" | "labels">): boolean {
  return isCaptured === true || labels[managedLabel] === waypointController;
}

/** The workload says so itself; otherwise the ztunnel of its node does. */
export function endsTunnelsItself({ labels }: Pick<Endpoint, "labels">): boolean {
  return labels["networking.istio.io/tunnel"] === "http";
}

export interface TunnelChoice {
  readonly tunnels: TunnelUse;
  /** `address:port` of a service whose endpoints here are its waypoint's; "" elsewhere. */
  readonly behindWaypoint: string;
}

export function withTunnel(endpoint: Endpoint, { tunnels, behindWaypoint }: TunnelChoice): ReachedEndpoint {
  const own = addressText(endpoint.addresses[0] ?? "", endpoint.port);
  if (behindWaypoint !== "")
    return { ...endpoint, tunnel: { listener: "connect_originate", local: behindWaypoint, waypoint: own } };
  if (tunnels === "none" || !takesHbone(endpoint)) return endpoint;
  if (tunnels === "without-mesh-tls" && endpoint.tlsMode === "istio") return endpoint;
  return { ...endpoint, tunnel: { listener: "connect_originate", local: own } };
}

/** Through a gateway that takes HBONE; undefined for one that takes the mesh's TLS only. */
export function gatewayTunnel({ address, port, isHbone }: NetworkGateway, target: string): Tunnel | undefined {
  if (target === "" || isHbone !== true) return undefined;
  return { listener: "inner_connect_originate", local: addressText(address, port), target };
}

/** IPv6 in brackets. */
export function addressText(address: string, port: number): string {
  return isIpv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
