/** The listener that everything leaving the workload is redirected to; it hands over to the listener of the destination. */
import { create } from "@flotilla/proto";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { socketAddress } from "../shared/address.ts";
import { tcpProxy } from "./network/filters.ts";
import type { ListenerTraits } from "./traits.ts";

export interface VirtualOutboundInputs {
  readonly traits: ListenerTraits;
  /** 15001 by default. */
  readonly listenPort: number;
}

export function buildVirtualOutbound({ traits, listenPort }: VirtualOutboundInputs): Listener {
  const fallback = traits.fallbackCluster;
  return create(ListenerSchema, {
    name: "virtualOutbound",
    trafficDirection: TrafficDirection.OUTBOUND,
    address: socketAddress(traits.wildcardAddress, listenPort),
    additionalAddresses: traits.extraAddresses.map((extra) => ({ address: socketAddress(extra, listenPort) })),
    useOriginalDst: true,
    ...(traits.transparent && { transparent: true }),
    filterChains: [
      // A connection to the listener's own port would loop for ever.
      create(FilterChainSchema, {
        name: "virtualOutbound-blackhole",
        filterChainMatch: { destinationPort: listenPort },
        filters: [tcpProxy({ statPrefix: "BlackHoleCluster", clusters: "BlackHoleCluster" })],
      }),
      create(FilterChainSchema, {
        name: "virtualOutbound-catchall-tcp",
        filters: [
          tcpProxy({
            statPrefix: fallback,
            clusters: fallback,
            accessLog: traits.accessLogs.connection,
            idleTimeout: traits.idleTimeout,
          }),
        ],
      }),
    ],
    maxConnectionsToAcceptPerSocketEvent: 1,
    accessLog: [...traits.accessLogs.listener],
  });
}
