/** Clusters whose endpoints Envoy finds by DNS. */
import { create, type Duration, pack } from "@flotilla/proto";
import { Cluster_DiscoveryType as Discovery } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { CaresDnsResolverConfigSchema } from "@flotilla/proto/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb";
import type { IpMode } from "../../snapshot/facets.ts";
import { assignmentEndpoints, type EndpointInputs } from "../eds/load-assignment.ts";
import { lookupFamilies } from "../shared/dns-cache.ts";

export interface DnsInputs {
  readonly clusterName: string;
  readonly endpoints: EndpointInputs;
  /** One address at a time, whichever the name resolves to. */
  readonly isLogical: boolean;
  readonly ipMode: IpMode;
  readonly refreshRate: Duration | undefined;
}

export function dnsDiscovery({ clusterName, endpoints, isLogical, ipMode, refreshRate }: DnsInputs) {
  return {
    clusterDiscoveryType: {
      case: "type" as const,
      value: isLogical ? Discovery.LOGICAL_DNS : Discovery.STRICT_DNS,
    },
    dnsLookupFamily: lookupFamilies[ipMode],
    dnsRefreshRate: refreshRate ?? { seconds: 60n, nanos: 0 },
    dnsJitter: { seconds: 0n, nanos: 100_000_000 },
    respectDnsTtl: true,
    typedDnsResolverConfig: resolver,
    loadAssignment: { clusterName, endpoints: assignmentEndpoints(endpoints) },
  };
}

/** A fresh socket every hundred queries, so that source ports do not stay the same. */
const resolver = {
  name: "envoy.network.dns_resolver.cares",
  typedConfig: pack(CaresDnsResolverConfigSchema, create(CaresDnsResolverConfigSchema, { udpMaxQueries: 100 })),
};
