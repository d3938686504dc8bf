/**
 * Caches of host names that a proxy resolves as requests come. A cluster and the filter before it share a cache by
 * name, and Envoy refuses one name with two settings: both take them from here.
 */

import type { IpMode } from "@flotilla/model";
import { create, pack } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { Cluster_DnsLookupFamily as LookupFamily } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  type DnsCacheConfig,
  DnsCacheConfigSchema,
} from "@flotilla/proto/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache_pb";
import { CaresDnsResolverConfigSchema } from "@flotilla/proto/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb";

export interface DnsCache {
  /** The (wildcard) host of a service; empty for names that no service has. */
  readonly hostname: string;
  readonly ipMode: IpMode;
  /** `address:port` of the agent's DNS proxy; empty for the system's resolver. */
  readonly resolver: string;
  /** Where the names that callers ask for have no bound. */
  readonly maxHosts?: number;
}

export const lookupFamilies: Readonly<Record<IpMode, LookupFamily>> = {
  ipv4: LookupFamily.V4_ONLY,
  ipv6: LookupFamily.V6_ONLY,
  dual: LookupFamily.ALL,
};

export function dnsCacheConfig({ hostname, ipMode, resolver, maxHosts }: DnsCache): DnsCacheConfig {
  return create(DnsCacheConfigSchema, {
    name: `${hostname === "" ? "allow_any" : hostname}_dfp_dns_cache`,
    dnsLookupFamily: lookupFamilies[ipMode],
    ...(maxHosts !== undefined && { maxHosts }),
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
