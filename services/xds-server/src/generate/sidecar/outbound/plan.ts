/** The parts of an outbound listener: plain data, so that equal plans are recognised and not built again. */
import { type Protocol, parseCidr, rangeBits } from "@flotilla/model";
import type { DnsCache } from "../../envoy/clusters/dns-cache.ts";
import type { WeightedCluster } from "../../envoy/filters/network-filters.ts";
import type { TcpPolicy } from "../../select/tcp-policy.ts";

export interface OutboundListenerPlan {
  readonly name: string;
  /** An address, or the path of a Unix socket when `port` is 0. */
  readonly bind: string;
  readonly port: number;
  /** More addresses of the same service, for workloads with addresses of both families. */
  readonly extraAddresses: readonly string[];
  /** The proxy listens itself, instead of being handed redirected connections. */
  readonly bindToPort: boolean;
  readonly chains: readonly OutboundChain[];
}

export type OutboundChain = HttpChain | TcpChain;

export interface HttpChain {
  readonly carries: "http";
  /** Only what looks like HTTP; the rest goes to the listener's other chains. */
  readonly sniffed: boolean;
  readonly routeName: string;
  readonly grpcWeb: boolean;
  /** The cache that resolves the names callers ask for, where the service is a wildcard found by DNS. */
  readonly dnsCache?: DnsCache;
}

export interface TcpChain {
  readonly carries: "tcp";
  readonly serverNames: readonly string[];
  /** CIDR ranges of the destination. */
  readonly prefixes: readonly string[];
  readonly statPrefix: string;
  readonly clusters: string | readonly WeightedCluster[];
  readonly protocol: Protocol;
  readonly policy: TcpPolicy;
  /** Connections go to the server name they ask for, found by DNS, at this port. */
  readonly byServerName?: { readonly dnsCache: DnsCache; readonly port: number };
  /** The VirtualService that made the route, as a path of the Kubernetes API. */
  readonly origin?: string;
}

/** Equal for two chains that take the same connections. */
export function chainMatchKey(chain: OutboundChain): string {
  if (chain.carries === "http") return chain.sniffed ? "http" : "|";
  const names = chain.serverNames.filter((name) => name !== "*").sort();
  return `${names.join()}|${chain.prefixes
    .map((prefix) => rangeBits(prefix) ?? prefix)
    .sort()
    .join()}`;
}

/** A range that begins at 0.0.0.0 matches nothing: it is left out of a chain's match, as in istiod. */
export function isMatched(prefix: string): boolean {
  return parseCidr(prefix)?.address !== "0.0.0.0";
}
