/** Fields of services and workloads that a ztunnel receives, before they become a message: plain data, equal where the messages are equal. */
import {
  addressNumber,
  addressText,
  type Labels,
  type Locality,
  type Protocol,
  parseCidr,
  type WorkloadMembership,
  type WorkloadPort,
  type WorkloadTunnel,
} from "@flotilla/model";
import type { GatewayDestination, InboundBinding } from "./waypoint.ts";

/** An address or a range within a network. */
export interface NetworkRange {
  readonly network: string;
  readonly address: string;
  /** Of a range. */
  readonly length?: number;
}

/** A range of one address is that address. */
export function networkRange(text: string, network: string): readonly NetworkRange[] {
  const range = parseCidr(text);
  if (range === undefined) return [];
  const { address, length } = range;
  const isWhole = length === (address.includes(":") ? 128 : 32);
  return [isWhole ? { network, address } : { network, address: firstOf(address, length), length }];
}

/** The first address of a range: those within it stand for it, too. */
function firstOf(address: string, length: number): string {
  const [width, family] = address.includes(":") ? ([128, 6] as const) : ([32, 4] as const);
  const rest = BigInt(width - length);
  return addressText(((addressNumber(address) ?? 0n) >> rest) << rest, family);
}

export interface ServicePortFacts {
  readonly number: number;
  readonly name: string;
  readonly protocol: Protocol;
  /** Of workloads that declare no other; undefined for a named port and where none is declared. */
  readonly target?: number;
  /** Of a port that each workload names itself. */
  readonly targetName?: string;
}

export type RoutingScope = "REGION" | "ZONE" | "SUBZONE" | "NODE" | "CLUSTER" | "NETWORK";

export interface LoadBalancingFacts {
  readonly mode: "UNSPECIFIED_MODE" | "STRICT" | "FAILOVER" | "PASSTHROUGH";
  readonly scopes: readonly RoutingScope[];
  readonly allowsUnhealthy: boolean;
}

/** How ztunnels ask for what is at an address: `NETWORK/ADDRESS`, of a range by its first one. */
export function addressNames(facts: ServiceFacts | WorkloadFacts): readonly string[] {
  if ("uid" in facts) return facts.addresses.map((address) => `${facts.network}/${address}`);
  return facts.addresses.map(({ network, address }) => `${network}/${address}`);
}

/** The way to a gateway, as workloads and services name it. */
export interface GatewayFacts {
  readonly destination: GatewayDestination;
  readonly port: number;
}

export interface ServiceFacts {
  readonly kind: "Service" | "ServiceEntry";
  readonly name: string;
  readonly namespace: string;
  readonly hostname: string;
  readonly addresses: readonly NetworkRange[];
  readonly ports: readonly ServicePortFacts[];
  /** Undefined: it selects nothing. */
  readonly selector?: Labels;
  readonly subjectAltNames: readonly string[];
  readonly loadBalancing?: LoadBalancingFacts;
  readonly ipFamilies: readonly string[];
  readonly namespaceOnly: boolean;
  /** Of several services of one host name, the one that callers of other namespaces mean. */
  readonly isCanonical: boolean;
  readonly ingressUsesWaypoint: boolean;
  readonly waypoint?: GatewayFacts;
  readonly weightedWaypoints?: readonly (GatewayFacts & { readonly weight: number })[];
}

/** Of workloads that stand for a service in another network, ports have their protocol too. */
interface ServedMembership extends Omit<WorkloadMembership, "ports"> {
  readonly ports: readonly (WorkloadPort & { readonly protocol?: Protocol })[];
}

export interface WorkloadFacts {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly addresses: readonly string[];
  readonly hostname: string;
  readonly network: string;
  readonly tunnel: WorkloadTunnel;
  readonly trustDomain: string;
  readonly serviceAccount: string;
  /** Empty for addresses of which nothing is known but their service. */
  readonly canonicalName: string;
  readonly canonicalRevision: string;
  readonly workloadName: string;
  readonly isPod: boolean;
  readonly node: string;
  readonly clusterId: string;
  readonly locality?: Locality;
  readonly capacity?: number;
  readonly isHealthy: boolean;
  readonly hostNetwork: boolean;
  readonly services: readonly ServedMembership[];
  readonly policies: readonly string[];
  readonly waypoint?: GatewayFacts;
  readonly networkGateway?: GatewayFacts;
  readonly applicationTunnel?: InboundBinding;
}
