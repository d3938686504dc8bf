/** The parts of a router's listener: plain data, so that equal plans are recognised and not built again. */
import { type Protocol, parseProtocol } from "@flotilla/model";
import type { ServerTLSSettings } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { type GatewayServer, plainHost } from "../../../snapshot/scope/gateway-merge.ts";
import type { WeightedCluster } from "../../envoy/filters/network-filters.ts";
import type { TcpPolicy } from "../tcp-policy.ts";

export interface GatewayListenerPlan {
  readonly name: string;
  /** `quic`: HTTP/3. `udp`: datagrams, which go where the only chain's connections would. */
  readonly transport: "tcp" | "quic" | "udp";
  /** An address, or the path of a Unix socket. */
  readonly bind: string;
  /** More addresses of the workload, where its Gateway names none. */
  readonly extraAddresses: readonly string[];
  readonly port: number;
  readonly chains: readonly GatewayChain[];
}

export type GatewayChain = GatewayHttpChain | GatewayTcpChain;

interface ChainMatch {
  /** Empty: any. */
  readonly serverNames: readonly string[];
  /** TLS that ends here. */
  readonly tls: ServerTLSSettings | undefined;
}

export interface GatewayHttpChain extends ChainMatch {
  readonly carries: "http";
  readonly routeName: string;
  /** The server's, for statistics; empty where they are the listener's. */
  readonly statName: string;
  readonly protocol: Protocol;
}

export interface GatewayTcpChain extends ChainMatch {
  readonly carries: "tcp";
  readonly statPrefix: string;
  readonly clusters: string | readonly WeightedCluster[];
  readonly protocol: Protocol;
  readonly policy: TcpPolicy;
  /** Mutual TLS between proxies of the mesh that passes through to the destination: policies hold there, not here. */
  readonly isOfMesh: boolean;
}

export function protocolOf({ server }: GatewayServer): Protocol {
  return parseProtocol(server.port?.protocol ?? "");
}

/** The names by which clients ask for a server; a wildcard for everything asks for none. */
export function serverNames({ hosts }: GatewayServer): readonly string[] {
  const names = [...new Set(hosts.map(plainHost))].sort();
  return names.includes("*") ? [] : names;
}
