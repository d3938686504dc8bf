/** Builds an outbound listener from its plan. */

import { parseCidr } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import { pipeAddress, socketAddress } from "@flotilla/proto/addresses";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { zeroDuration } from "../../envoy/duration.ts";
import { dynamicForwardProxy, dynamicForwardProxyBySni } from "../../envoy/filters/dynamic-forward-proxy.ts";
import { networkPolicyFilters } from "../../envoy/filters/extension-filters.ts";
import { statefulSession } from "../../envoy/filters/http-filters.ts";
import { protocolProxy, tcpProxy } from "../../envoy/filters/network-filters.ts";
import { connectionManager } from "../../envoy/listeners/connection-manager.ts";
import { httpInspector, tlsInspector } from "../../envoy/listeners/listener-filters.ts";
import {
  acceptedAtOnce,
  exactBalance,
  handshakeTimeout,
  originMetadata,
} from "../../envoy/listeners/listener-parts.ts";
import type { ListenerTraits } from "../../envoy/listeners/listener-traits.ts";
import { type HttpChain, isMatched, type OutboundChain, type OutboundListenerPlan, type TcpChain } from "./plan.ts";

export interface OutboundListenerInputs {
  readonly traits: ListenerTraits;
  readonly plan: OutboundListenerPlan;
  readonly detectionTimeout: Duration | undefined;
}

export function buildOutboundListener({ traits, plan, detectionTimeout }: OutboundListenerInputs): Listener {
  const { name, bind, port, bindToPort, chains, extraAddresses } = plan;
  const { filterChains, defaultFilterChain } = arrange(traits, plan);
  const sniffs = chains.some((chain) => chain.carries === "http" && chain.sniffed);
  return create(ListenerSchema, {
    name,
    trafficDirection: TrafficDirection.OUTBOUND,
    address: port === 0 ? pipeAddress(bind.replace(/^unix:\/\//, "")) : socketAddress(bind, port),
    additionalAddresses: extraAddresses.map((extra) => ({ address: socketAddress(extra, port) })),
    ...(bindToPort ? acceptedAtOnce(traits) : { bindToPort: false }),
    filterChains: [...filterChains],
    ...(defaultFilterChain && { defaultFilterChain }),
    listenerFilters: [...(chains.some(asksServerName) ? [tlsInspector()] : []), ...(sniffs ? [httpInspector()] : [])],
    listenerFiltersTimeout: (sniffs ? detectionTimeout : undefined) ?? zeroDuration,
    continueOnListenerFiltersTimeout: true,
    ...(traits.exactBalance.outbound && { connectionBalanceConfig: exactBalance }),
  });
}

function asksServerName(chain: OutboundChain): boolean {
  return chain.carries === "tcp" && (chain.serverNames.length > 0 || chain.byServerName !== undefined);
}

/** The chain that takes whatever no other takes is the default one, unless it is alone; of several the last. */
function arrange(traits: ListenerTraits, { bind, port, chains }: OutboundListenerPlan) {
  const built = chains.map((chain) => ({ chain, filterChain: buildChain(traits, chain, { bind, port }) }));
  const catchAll = built.findLast(({ chain }) => takesEverything(chain));
  const others = built.filter(({ chain }) => !takesEverything(chain)).map(({ filterChain }) => filterChain);
  if (catchAll !== undefined) {
    return others.length === 0
      ? { filterChains: [catchAll.filterChain] }
      : { filterChains: others, defaultFilterChain: catchAll.filterChain };
  }
  return { filterChains: others, defaultFilterChain: fallthrough(traits) };
}

function takesEverything(chain: OutboundChain): boolean {
  return chain.carries === "http" ? !chain.sniffed : namesOf(chain).length === 0 && chain.prefixes.length === 0;
}

/** `*` asks for no name in particular; as one of its names Envoy would refuse it. */
function namesOf({ serverNames }: TcpChain): readonly string[] {
  return serverNames.includes("*") ? [] : serverNames;
}

/** Destinations of the same port that are not known go where all unknown traffic goes. */
function fallthrough({ fallbackCluster, accessLogs, idleTimeout, stats }: ListenerTraits): FilterChain {
  return create(FilterChainSchema, {
    name: "PassthroughFilterChain",
    filterChainMatch: {},
    filters: [
      ...stats.outbound.network,
      tcpProxy({
        statPrefix: fallbackCluster,
        clusters: fallbackCluster,
        accessLog: accessLogs.outbound.connection,
        idleTimeout,
      }),
    ],
  });
}

interface BoundPlace {
  readonly bind: string;
  readonly port: number;
}

function buildChain(traits: ListenerTraits, chain: OutboundChain, place: BoundPlace): FilterChain {
  return chain.carries === "http" ? httpChain(traits, chain, place) : tcpChain(traits, chain, place);
}

function extensionsOf({ extensions }: ListenerTraits, port: number): FilterChain["filters"] {
  return [...networkPolicyFilters(extensions, { side: "outbound", port })];
}

function httpChain(traits: ListenerTraits, chain: HttpChain, { bind, port }: BoundPlace): FilterChain {
  const { sniffed, routeName, grpcWeb } = chain;
  // Hosts of a service and hosts of none are resolved in caches of their own.
  const dnsCaches = [chain.dnsCache, traits.unknownHosts].filter((cache) => cache !== undefined);
  return create(FilterChainSchema, {
    ...(sniffed && {
      filterChainMatch: { transportProtocol: "raw_buffer", applicationProtocols: [...traits.plainHttpProtocols] },
    }),
    ...handshakeTimeout(traits),
    filters: [
      ...extensionsOf(traits, port),
      connectionManager({
        traits,
        direction: "outbound",
        port,
        statPrefix: `outbound_${bind}_${port}`,
        routes: routeName,
        grpcWeb,
        late: [...(traits.sessions ? [statefulSession] : []), ...dnsCaches.map(dynamicForwardProxy)],
        allowAbsoluteUrl: routeName === "http_proxy",
      }),
    ],
  });
}

function tcpChain(traits: ListenerTraits, chain: TcpChain, { port }: BoundPlace): FilterChain {
  const { prefixes, statPrefix, clusters, protocol, policy, origin, byServerName } = chain;
  const serverNames = namesOf(chain);
  const hasMatch = serverNames.length > 0 || prefixes.length > 0;
  return create(FilterChainSchema, {
    ...(hasMatch && {
      filterChainMatch: {
        serverNames: [...serverNames].sort(),
        prefixRanges: prefixes.filter(isMatched).map(prefixRange),
      },
    }),
    ...handshakeTimeout(traits),
    filters: [
      ...extensionsOf(traits, port),
      ...traits.stats.outbound.network,
      ...(byServerName ? [dynamicForwardProxyBySni(byServerName.dnsCache, byServerName.port)] : []),
      ...protocolProxy(protocol, traits.protocolFilters, {
        statPrefix,
        clusters,
        accessLog: traits.accessLogs.outbound.connection,
        idleTimeout: traits.idleTimeout,
        ...policy,
      }),
    ],
    ...(origin !== undefined && { metadata: originMetadata(origin) }),
  });
}

function prefixRange(prefix: string) {
  const { address, length } = parseCidr(prefix) ?? { address: prefix, length: 32 };
  return { addressPrefix: address, prefixLen: length };
}
