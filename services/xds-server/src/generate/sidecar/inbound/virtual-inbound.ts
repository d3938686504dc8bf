/** The listener that receives everything redirected to the sidecar: one group of filter chains a workload port. */

import type { MutualTlsMode } from "@flotilla/model";
import { isUnsupported } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { metadataExchange, tcpProxy } from "../../envoy/filters/network-filters.ts";
import {
  httpInspector,
  originalDestination,
  originalSource,
  tlsInspector,
} from "../../envoy/listeners/listener-filters.ts";
import { acceptedAtOnce, exactBalance } from "../../envoy/listeners/listener-parts.ts";
import { chainOptions, portChainOptions } from "./chain-options.ts";
import { destinationOf, type InboundChainInputs, type InboundDestination, inboundChains } from "./inbound-chains.ts";
import type { InboundPort } from "./inbound-ports.ts";

export interface UnnamedPort {
  readonly port: number;
  readonly mode: MutualTlsMode;
}

export interface VirtualInboundInputs extends InboundChainInputs {
  /** Where redirected connections arrive: 15006 by default. */
  readonly listenPort: number;
  readonly ports: readonly InboundPort[];
  /** For connections to ports that no service names. */
  readonly passthroughMode: MutualTlsMode;
  /** Modes of ports that policies name but no service does, ordered by port. */
  readonly unnamedPorts: readonly UnnamedPort[];
  /** By MeshConfig's pattern; empty without one. */
  readonly passthroughStatName: string;
  readonly detectionTimeout: Duration | undefined;
}

export function buildVirtualInbound(inputs: VirtualInboundInputs): Listener {
  const { traits, listenPort, ports } = inputs;
  const address = traits.wildcardAddress;
  return create(ListenerSchema, {
    name: "virtualInbound",
    trafficDirection: TrafficDirection.INBOUND,
    address: socketAddress(address, listenPort),
    additionalAddresses: traits.extraAddresses.map((extra) => ({ address: socketAddress(extra, listenPort) })),
    filterChains: [
      blackhole(inputs),
      ...passthrough(inputs),
      ...ports.flatMap((port) => inboundChains(inputs, portChainOptions(port), destinationOf(port))),
    ],
    listenerFilters: listenerFilters(inputs),
    listenerFiltersTimeout: inputs.detectionTimeout ?? { seconds: 0n, nanos: 0 },
    continueOnListenerFiltersTimeout: true,
    ...acceptedAtOnce(traits),
    ...(traits.transparent && { transparent: true }),
    ...(traits.exactBalance.inbound && { connectionBalanceConfig: exactBalance }),
    accessLog: [...traits.accessLogs.inbound.listener],
  });
}

/** A connection to the listener's own port would loop for ever. */
function blackhole({ traits, listenPort }: VirtualInboundInputs): FilterChain {
  return create(FilterChainSchema, {
    name: "virtualInbound-blackhole",
    filterChainMatch: { destinationPort: listenPort },
    filters: [
      ...(traits.networkMetadata ? [metadataExchange(traits.exchangedLabels)] : []),
      ...traits.stats.inbound.network,
      tcpProxy({ statPrefix: "BlackHoleCluster", clusters: "BlackHoleCluster" }),
    ],
  });
}

function passthrough(inputs: VirtualInboundInputs): readonly FilterChain[] {
  const cluster = "InboundPassthroughCluster";
  const tcpStatPrefix = inputs.passthroughStatName || cluster;
  const destination: InboundDestination = { name: "virtualInbound", cluster, statPrefix: cluster, tcpStatPrefix };
  return [
    ...inboundChains(inputs, chainOptions("Unsupported", inputs.passthroughMode), destination),
    ...inputs.unnamedPorts.flatMap(({ port, mode }) =>
      inboundChains(inputs, chainOptions("Unsupported", mode), { ...destination, unnamedPort: port }),
    ),
  ];
}

/** Inspectors look only where a chain depends on what they find. */
function listenerFilters(inputs: VirtualInboundInputs): Listener["listenerFilters"] {
  const { traits, ports, unnamedPorts, passthroughMode } = inputs;
  const unnamed = unnamedPorts.map(({ port, mode }) => ({
    port,
    mode,
    protocol: "Unsupported" as const,
    ownTls: undefined,
  }));
  const all = [...ports, ...unnamed];
  const tls = all.map(({ port, mode, ownTls }) => ({ port, needed: mode !== "DISABLE" || ownTls !== undefined }));
  const http = all.map(({ port, mode, protocol }) => ({ port, needed: isUnsupported(protocol) && mode !== "STRICT" }));
  const [tlsElsewhere, httpElsewhere] = [passthroughMode !== "DISABLE", passthroughMode !== "STRICT"];
  const onlyTls = portsWhere(tls, true);
  return [
    originalDestination,
    ...(traits.transparent ? [originalSource] : []),
    ...(tlsElsewhere
      ? [tlsInspector({ skipPorts: inOrder([...portsWhere(tls, false), inputs.listenPort]) })]
      : onlyTls.length > 0
        ? [tlsInspector({ onlyPorts: onlyTls })]
        : []),
    ...(httpElsewhere || http.some(({ needed }) => needed)
      ? [httpInspector({ skipPorts: skippedByHttp(inputs, portsWhere(http, false), httpElsewhere) })]
      : []),
  ];
}

interface InspectedPort {
  readonly port: number;
  readonly needed: boolean;
}

function portsWhere(ports: readonly InspectedPort[], needed: boolean): readonly number[] {
  return inOrder(ports.filter((one) => one.needed === needed).map(({ port }) => port));
}

function inOrder(ports: readonly number[]): readonly number[] {
  return [...ports].sort((a, b) => a - b);
}

/**
 * Ports that are not declared stand in the list as port 0, as in istiod: the inspector looks at them all the same.
 * Source: corpus xds, TestPeerAuthenticationPassthrough.
 */
function skippedByHttp({ listenPort }: VirtualInboundInputs, named: readonly number[], elsewhere: boolean) {
  return inOrder([...(elsewhere ? [] : [0]), ...named, listenPort]);
}
