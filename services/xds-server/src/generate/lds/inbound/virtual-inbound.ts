/** The listener that receives everything redirected to the sidecar: one group of filter chains a workload port. */

import { isHttp2, isUnsupported } from "@flotilla/model";
import type { Duration } from "@flotilla/proto";
import { create, type MessageInitShape } from "@flotilla/proto";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type FilterChain,
  type FilterChainMatchSchema,
  FilterChainSchema,
} from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { MutualTlsMode } from "../../../snapshot/scope/authn.ts";
import { socketAddress } from "../../shared/address.ts";
import { connectionManager } from "../http/connection-manager.ts";
import { httpInspector, originalDestination, tlsInspector } from "../listener-filters.ts";
import { metadataExchange, mongoProxy, tcpProxy } from "../network/filters.ts";
import type { ListenerTraits } from "../traits.ts";
import { type ChainOption, chainOptions } from "./chain-options.ts";
import type { InboundPort } from "./inbound-ports.ts";
import { inboundRoute } from "./inbound-route.ts";
import { type InboundTlsInputs, inboundTls } from "./tls-context.ts";

export interface VirtualInboundInputs {
  readonly traits: ListenerTraits;
  /** Where redirected connections arrive: 15006 by default. */
  readonly listenPort: number;
  readonly ports: readonly InboundPort[];
  /** For connections to ports that no service names. */
  readonly passthroughMode: MutualTlsMode;
  readonly trustDomains: readonly string[];
  readonly minimumTlsVersion: InboundTlsInputs["minimumVersion"];
  readonly detectionTimeout: Duration | undefined;
  readonly httpFilters: { readonly early: readonly HttpFilter[]; readonly late: readonly HttpFilter[] };
}

/** What one group of filter chains leads to. */
interface Destination {
  readonly name: string;
  readonly cluster: string;
  readonly statPrefix: string;
  readonly port?: InboundPort;
}

export function buildVirtualInbound(inputs: VirtualInboundInputs): Listener {
  const { traits, listenPort, ports, passthroughMode } = inputs;
  const address = traits.wildcardAddress;
  return create(ListenerSchema, {
    name: "virtualInbound",
    trafficDirection: TrafficDirection.INBOUND,
    address: socketAddress(address, listenPort),
    additionalAddresses: traits.extraAddresses.map((extra) => ({ address: socketAddress(extra, listenPort) })),
    filterChains: [
      blackhole(inputs),
      ...passthrough(inputs),
      ...ports.flatMap((port) =>
        chainsOf(inputs, chainOptions(port.protocol, port.mode), destinationOf(address, port)),
      ),
    ],
    listenerFilters: listenerFilters(listenPort, ports, passthroughMode),
    listenerFiltersTimeout: inputs.detectionTimeout ?? { seconds: 0n, nanos: 0 },
    continueOnListenerFiltersTimeout: true,
    maxConnectionsToAcceptPerSocketEvent: 1,
    accessLog: [...traits.accessLogs.listener],
  });
}

/** A connection to the listener's own port would loop for ever. */
function blackhole({ traits, listenPort }: VirtualInboundInputs): FilterChain {
  return create(FilterChainSchema, {
    name: "virtualInbound-blackhole",
    filterChainMatch: { destinationPort: listenPort },
    filters: [
      ...(traits.networkMetadata ? [metadataExchange] : []),
      tcpProxy({ statPrefix: "BlackHoleCluster", clusters: "BlackHoleCluster" }),
    ],
  });
}

function passthrough(inputs: VirtualInboundInputs): readonly FilterChain[] {
  const cluster = "InboundPassthroughCluster";
  const destination: Destination = { name: "virtualInbound", cluster, statPrefix: cluster };
  return chainsOf(inputs, chainOptions("Unsupported", inputs.passthroughMode), destination);
}

function destinationOf(address: string, port: InboundPort): Destination {
  return {
    name: `${address}_${port.port}`,
    cluster: `inbound|${port.port}||`,
    statPrefix: `inbound_${address}_${port.port}`,
    port,
  };
}

function chainsOf(
  inputs: VirtualInboundInputs,
  options: readonly ChainOption[],
  destination: Destination,
): readonly FilterChain[] {
  return options.map((option) => {
    const { carries, tls, transportProtocol = "", applicationProtocols = [] } = option;
    const isCatchAllHttp = destination.port === undefined && carries === "http";
    const filterChainMatch: MessageInitShape<typeof FilterChainMatchSchema> = {
      ...(destination.port && { destinationPort: destination.port.port }),
      transportProtocol,
      applicationProtocols: [...applicationProtocols],
    };
    const { trustDomains, minimumTlsVersion: minimumVersion } = inputs;
    return create(FilterChainSchema, {
      name: isCatchAllHttp ? `${destination.name}-catchall-http` : destination.name,
      filterChainMatch,
      filters: carries === "http" ? httpFiltersOf(inputs, destination) : tcpFiltersOf(inputs, destination),
      ...(tls && { transportSocket: inboundTls({ tcp: carries === "tcp", trustDomains, minimumVersion }) }),
    });
  });
}

function httpFiltersOf(
  { traits, httpFilters }: VirtualInboundInputs,
  { cluster, statPrefix, port }: Destination,
): FilterChain["filters"] {
  const operation = port === undefined ? ":0" : `${port.hostname}:${port.servicePort}`;
  const retries = port === undefined || !["GRPC", "GRPC-Web"].includes(port.protocol);
  const manager = connectionManager({
    traits,
    direction: "inbound",
    statPrefix,
    routes: inboundRoute({ cluster, operation, servicePort: port?.servicePort ?? 0, retries }),
    grpcWeb: port?.protocol === "GRPC-Web",
    http2: port !== undefined && isHttp2(port.protocol),
    early: httpFilters.early,
    late: httpFilters.late,
  });
  return [...(traits.networkMetadata ? [metadataExchange] : []), manager];
}

function tcpFiltersOf({ traits }: VirtualInboundInputs, { cluster, port }: Destination): FilterChain["filters"] {
  const accessLog = traits.accessLogs.connection;
  return [
    ...(traits.networkMetadata ? [metadataExchange] : []),
    ...(port?.protocol === "Mongo" ? [mongoProxy(cluster)] : []),
    tcpProxy({ statPrefix: cluster, clusters: cluster, accessLog }),
  ];
}

/** Inspectors look only where a chain depends on what they find. */
function listenerFilters(
  listenPort: number,
  ports: readonly InboundPort[],
  passthroughMode: MutualTlsMode,
): Listener["listenerFilters"] {
  const needs = (port: InboundPort) => chainOptions(port.protocol, port.mode);
  const withoutTls = ports.filter((port) => needs(port).every(({ transportProtocol }) => transportProtocol !== "tls"));
  const withoutSniffing = ports.filter((port) => !isUnsupported(port.protocol) || port.mode === "STRICT");
  const sniffs = passthroughMode !== "STRICT" || withoutSniffing.length < ports.length;
  const skipped = (some: readonly InboundPort[]) => [...some.map(({ port }) => port), listenPort].sort((a, b) => a - b);
  return [
    originalDestination,
    tlsInspector(skipped(withoutTls)),
    ...(sniffs ? [httpInspector(skipped(withoutSniffing))] : []),
  ];
}
