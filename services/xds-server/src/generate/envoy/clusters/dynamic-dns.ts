/** Clusters whose hosts are resolved as requests for them come: any name below a wildcard, or any name at all. */
import { create, type Duration, pack } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { ClusterConfigSchema } from "@flotilla/proto/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster_pb";
import type { ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { metadataExchangeFilter } from "./cluster-parts.ts";
import { circuitBreakers, connectionOptions, httpOptionsKey, passthroughHttpOptions } from "./connection-pool.ts";
import { type DnsCache, dnsCacheConfig } from "./dns-cache.ts";

export const unknownHostsCluster = "AllowAnyDynamicDNSCluster";

/** @param isUnchecked the certificate need not fit the name, so that Envoy accepts the cluster without that check. */
export function dynamicDiscovery(cache: DnsCache, isUnchecked: boolean) {
  const config = create(ClusterConfigSchema, {
    clusterImplementationSpecifier: { case: "dnsCacheConfig", value: dnsCacheConfig(cache) },
    allowInsecureClusterOptions: isUnchecked,
  });
  const value = { name: "envoy.clusters.dynamic_forward_proxy", typedConfig: pack(ClusterConfigSchema, config) };
  return { clusterDiscoveryType: { case: "clusterType" as const, value } };
}

export interface UnknownHostsInputs {
  readonly cache: DnsCache;
  readonly connectTimeout: Duration | undefined;
  readonly keepalive: TcpKeepalive | undefined;
  readonly exchangesMetadata: boolean;
  readonly tracksRemaining: boolean;
  readonly exchangedLabels: readonly string[];
}

/** The cluster of requests for unknown hosts when `outboundTrafficPolicy` is ALLOW_ANY_DYNAMIC_DNS. */
export function buildUnknownHosts({
  cache,
  connectTimeout,
  keepalive,
  exchangesMetadata,
  tracksRemaining,
  exchangedLabels,
}: UnknownHostsInputs): Cluster {
  return create(ClusterSchema, {
    name: unknownHostsCluster,
    altStatName: `${unknownHostsCluster};`,
    connectTimeout: connectTimeout ?? { seconds: 10n, nanos: 0 },
    ...dynamicDiscovery(cache, true),
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    circuitBreakers: circuitBreakers({ tracksRemaining }),
    typedExtensionProtocolOptions: { [httpOptionsKey]: passthroughHttpOptions },
    ...connectionOptions(keepalive),
    ...(exchangesMetadata && { filters: [metadataExchangeFilter(exchangedLabels)] }),
  });
}
