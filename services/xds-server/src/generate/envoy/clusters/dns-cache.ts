/**
 * Caches of host names that a proxy resolves as requests come. A cluster and the filter before it share a cache by
 * name, and Envoy refuses one name with two settings: both take them from here.
 */
import { create, pack } from "@flotilla/proto";
import { Cluster_DnsLookupFamily as LookupFamily } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  type DnsCacheConfig,
  DnsCacheConfigSchema,
} from "@flotilla/proto/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache_pb";
import { CaresDnsResolverConfigSchema } from "@flotilla/proto/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb";
import type { IpMode } from "../../../snapshot/facets.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { socketAddress } from "../address.ts";

export interface DnsCache {
  /** The (wildcard) host of a service; empty for names that no service has. */
  readonly hostname: string;
  readonly ipMode: IpMode;
  /** `address:port` of the agent's DNS proxy; empty for the system's resolver. */
  readonly resolver: string;
}

export const lookupFamilies: Readonly<Record<IpMode, LookupFamily>> = {
  ipv4: LookupFamily.V4_ONLY,
  ipv6: LookupFamily.V6_ONLY,
  dual: LookupFamily.ALL,
};

/** Proxies of two families resolve names to both only where the control plane knows of dual stack. */
export function resolvedFamilies(view: View): IpMode {
  const { ipMode } = view.proxy;
  return ipMode === "dual" && !view.feature("dualStack") ? "ipv4" : ipMode;
}

/** Nobody bounds the names that callers ask for: the cache does. */
const maxUnknownHosts = 1024;

/** For names of no service: by the agent where it captures DNS, so that it answers what the mesh knows. */
export const unknownHostsDnsCache = query<DnsCache>("unknown-hosts-dns-cache", ({ proxy }) => {
  const captures = proxy.metadataFlag("DNS_CAPTURE");
  const resolver = captures ? agentAddress(proxy.metadataText("DNS_PROXY_ADDR")) : "";
  return { hostname: "", ipMode: proxy.ipMode, resolver };
});

const defaultAgentAddress = "127.0.0.1:15053";

function agentAddress(text: string): string {
  return /^.+:\d+$/.test(text) ? text : defaultAgentAddress;
}

export function dnsCacheConfig({ hostname, ipMode, resolver }: DnsCache): DnsCacheConfig {
  return create(DnsCacheConfigSchema, {
    name: `${hostname === "" ? "allow_any" : hostname}_dfp_dns_cache`,
    dnsLookupFamily: lookupFamilies[ipMode],
    ...(hostname === "" && { maxHosts: maxUnknownHosts }),
    ...(resolver !== "" && { typedDnsResolverConfig: resolverAt(resolver) }),
  });
}

function resolverAt(text: string) {
  const colon = text.lastIndexOf(":");
  const address = text.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  const config = create(CaresDnsResolverConfigSchema, {
    resolvers: [socketAddress(address, Number(text.slice(colon + 1)))],
  });
  return { name: "envoy.network.dns_resolver.cares", typedConfig: pack(CaresDnsResolverConfigSchema, config) };
}
