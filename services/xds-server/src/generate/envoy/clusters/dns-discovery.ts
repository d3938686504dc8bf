/** Clusters whose endpoints Envoy finds by DNS. */
import type { IpMode } from "@flotilla/model";
import { create, type Duration, pack } from "@flotilla/proto";
import { Cluster_DiscoveryType as Discovery } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { CaresDnsResolverConfigSchema } from "@flotilla/proto/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver_pb";
import type { EndpointInputs } from "../endpoints/endpoint-inputs.ts";
import { assignmentEndpoints } from "../endpoints/load-assignment.ts";
import { lookupFamilies } from "./dns-cache.ts";
import type { ClusterTraits } from "./outbound-inputs.ts";

/** How names are resolved, whatever names. */
export interface ResolutionInputs {
  readonly ipMode: IpMode;
  readonly refreshRate: Duration | undefined;
  readonly traits: Pick<ClusterTraits, "udpMaxQueries" | "dnsJitterNanos">;
}

export interface DnsInputs extends ResolutionInputs {
  readonly clusterName: string;
  readonly endpoints: EndpointInputs;
  /** One address at a time, whichever the name resolves to. */
  readonly isLogical: boolean;
}

export function resolution({ ipMode, refreshRate, traits }: ResolutionInputs) {
  return {
    dnsLookupFamily: lookupFamilies[ipMode],
    dnsRefreshRate: refreshRate ?? { seconds: 60n, nanos: 0 },
    dnsJitter: jitter(traits.dnsJitterNanos),
    respectDnsTtl: true,
    typedDnsResolverConfig: resolver(traits.udpMaxQueries),
  };
}

export function dnsDiscovery(inputs: DnsInputs) {
  const { clusterName, endpoints, isLogical } = inputs;
  return {
    clusterDiscoveryType: {
      case: "type" as const,
      value: isLogical ? Discovery.LOGICAL_DNS : Discovery.STRICT_DNS,
    },
    ...resolution(inputs),
    loadAssignment: { clusterName, endpoints: assignmentEndpoints(endpoints) },
  };
}

/** Clusters that start together do not ask together ever after. */
function jitter(nanos: bigint) {
  return { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) };
}

/** A fresh socket every so many queries, so that source ports do not stay the same. */
function resolver(udpMaxQueries: number) {
  const config = create(CaresDnsResolverConfigSchema, { udpMaxQueries });
  return {
    name: "envoy.network.dns_resolver.cares",
    typedConfig: pack(CaresDnsResolverConfigSchema, config),
  };
}
