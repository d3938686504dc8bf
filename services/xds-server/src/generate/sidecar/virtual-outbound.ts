/** The listener that everything leaving the workload is redirected to; it hands over to the listener of the destination. */
import { create } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { DnsCache } from "../envoy/clusters/dns-cache.ts";
import { unknownHostsCluster } from "../envoy/clusters/dynamic-dns.ts";
import { dynamicForwardProxy } from "../envoy/filters/dynamic-forward-proxy.ts";
import { tcpProxy } from "../envoy/filters/network-filters.ts";
import { connectionManager } from "../envoy/listeners/connection-manager.ts";
import { httpInspector } from "../envoy/listeners/listener-filters.ts";
import { acceptedAtOnce } from "../envoy/listeners/listener-parts.ts";
import type { ListenerTraits } from "../envoy/listeners/listener-traits.ts";
import { maxDirectResponseBodyBytes } from "../envoy/routes/route-configuration.ts";
import { passthroughRoute } from "./routes.ts";

export interface VirtualOutboundInputs {
  readonly traits: ListenerTraits;
  /** 15001 by default. */
  readonly listenPort: number;
  readonly addsAttemptCount: boolean;
}

export function buildVirtualOutbound({ traits, listenPort, addsAttemptCount }: VirtualOutboundInputs): Listener {
  const fallback = traits.fallbackCluster;
  return create(ListenerSchema, {
    name: "virtualOutbound",
    trafficDirection: TrafficDirection.OUTBOUND,
    address: socketAddress(traits.wildcardAddress, listenPort),
    additionalAddresses: traits.extraOutboundAddresses.map((extra) => ({ address: socketAddress(extra, listenPort) })),
    useOriginalDst: true,
    ...(traits.transparent && { transparent: true }),
    filterChains: [
      // A connection to the listener's own port would loop for ever.
      create(FilterChainSchema, {
        name: "virtualOutbound-blackhole",
        filterChainMatch: { destinationPort: listenPort },
        filters: [
          ...traits.stats.outbound.network,
          tcpProxy({ statPrefix: "BlackHoleCluster", clusters: "BlackHoleCluster" }),
        ],
      }),
      ...(traits.unknownHosts ? [requestsToUnknownHosts(traits, traits.unknownHosts, addsAttemptCount)] : []),
      create(FilterChainSchema, {
        name: "virtualOutbound-catchall-tcp",
        filters: [
          ...traits.stats.outbound.network,
          tcpProxy({
            statPrefix: fallback,
            clusters: fallback,
            accessLog: traits.accessLogs.outbound.connection,
            idleTimeout: traits.idleTimeout,
          }),
        ],
      }),
    ],
    ...(traits.unknownHosts && { listenerFilters: [httpInspector()] }),
    ...acceptedAtOnce(traits),
    accessLog: [...traits.accessLogs.outbound.listener],
  });
}

/** Requests name their host: it is resolved anew instead of trusting the address they were sent to. */
function requestsToUnknownHosts(traits: ListenerTraits, dnsCache: DnsCache, addsAttemptCount: boolean) {
  const route = passthroughRoute(unknownHostsCluster, traits.headers?.xForwardedHost?.enabled === true);
  const routes = create(RouteConfigurationSchema, {
    name: route.name,
    virtualHosts: [{ name: route.name, domains: ["*"], routes: [route], includeRequestAttemptCount: addsAttemptCount }],
    validateClusters: false,
    maxDirectResponseBodySizeBytes: maxDirectResponseBodyBytes,
    ignorePortInHostMatching: true,
  });
  return create(FilterChainSchema, {
    name: "virtualOutbound-catchall-tcp-http",
    filterChainMatch: { applicationProtocols: [...traits.plainHttpProtocols] },
    filters: [
      connectionManager({
        traits,
        direction: "outbound",
        port: 0,
        statPrefix: `outbound_virtualOutbound_${route.name}`,
        routes,
        grpcWeb: false,
        late: [dynamicForwardProxy(dnsCache)],
      }),
    ],
  });
}
