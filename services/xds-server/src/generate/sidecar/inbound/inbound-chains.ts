/** The filter chains of one inbound destination: what callers may send, and what happens to it. */
import { isHttp2 } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { networkPolicyFilters } from "../../envoy/filters/extension-filters.ts";
import { metadataExchange, protocolProxy } from "../../envoy/filters/network-filters.ts";
import { connectionManager } from "../../envoy/listeners/connection-manager.ts";
import { originMetadata } from "../../envoy/listeners/listener-parts.ts";
import type { ListenerTraits } from "../../envoy/listeners/listener-traits.ts";
import { inboundRetryPolicy } from "../../envoy/routes/retry.ts";
import type { CompliancePolicy, TlsParameters } from "../../envoy/tls/compliance.ts";
import { inboundTls, type ServerFiles } from "../../envoy/tls/inbound-tls.ts";
import { ownTls } from "../../envoy/tls/own-tls.ts";
import type { AuthorizationFilters } from "../../select/authorization.ts";
import type { ChainOption } from "./chain-options.ts";
import type { InboundPort } from "./inbound-ports.ts";
import { inboundRoute } from "./inbound-route.ts";

export interface InboundChainInputs {
  /** The opener of an HBONE tunnel has identified itself. */
  readonly isWithinTunnel?: boolean;
  readonly traits: ListenerTraits;
  readonly trustDomains: readonly string[];
  readonly serverFiles: ServerFiles;
  readonly meshTls: TlsParameters;
  /** Defaults for the fields that a Sidecar's own TLS lacks. */
  readonly tlsDefaults: TlsDefaults | undefined;
  readonly compliance: CompliancePolicy;
  readonly authorization: AuthorizationFilters;
}

/** The destination of one group of filter chains. */
export interface InboundDestination {
  readonly name: string;
  readonly cluster: string;
  /** Of connection managers. */
  readonly statPrefix: string;
  /** Of TCP proxies. */
  readonly tcpStatPrefix: string;
  /** Absent for connections to ports that are not declared. */
  readonly port?: InboundPort;
  /** The only port of those that are not declared. */
  readonly unnamedPort?: number;
}

export function destinationOf(port: InboundPort): InboundDestination {
  const place = `${port.address}_${port.port}`;
  const cluster = `inbound|${port.port}||`;
  return {
    name: place,
    cluster,
    statPrefix: `inbound_${place}`,
    tcpStatPrefix: port.listenerStatName || cluster,
    port,
  };
}

export function inboundChains(
  inputs: InboundChainInputs,
  options: readonly ChainOption[],
  destination: InboundDestination,
): readonly FilterChain[] {
  return options.map((option) => {
    const { carries, tls, transportProtocol = "", applicationProtocols = [] } = option;
    const isCatchAllHttp = destination.port === undefined && carries === "http";
    const protocols =
      option.tls || transportProtocol !== "raw_buffer" || applicationProtocols.length === 0
        ? applicationProtocols
        : inputs.traits.plainHttpProtocols;
    const destinationPort = destination.port?.port ?? destination.unnamedPort;
    const filterChainMatch = {
      ...(destinationPort !== undefined && { destinationPort }),
      transportProtocol,
      applicationProtocols: [...protocols],
    };
    const { trustDomains, serverFiles: files, meshTls: parameters, compliance } = inputs;
    return create(FilterChainSchema, {
      name: isCatchAllHttp ? `${destination.name}-catchall-http` : destination.name,
      filterChainMatch,
      filters: carries === "http" ? httpFiltersOf(inputs, destination) : tcpFiltersOf(inputs, destination),
      ...(destination.port?.origin !== undefined && { metadata: originMetadata(destination.port.origin) }),
      ...(tls && {
        transportSocket: option.ownTls
          ? ownTls({
              ...{ settings: option.ownTls, defaults: inputs.tlsDefaults, compliance, files },
              onDemand: false,
              exchangesMetadata: false,
            })
          : inboundTls({
              exchangesMetadata: carries === "tcp" && inputs.traits.exchangesMetadata,
              trustDomains,
              parameters,
              files,
            }),
      }),
    });
  });
}

function httpFiltersOf(
  { traits, authorization, isWithinTunnel }: InboundChainInputs,
  { cluster, statPrefix, port, unnamedPort }: InboundDestination,
): FilterChain["filters"] {
  const operation = port === undefined ? ":0" : `${port.hostname}:${port.servicePort}`;
  // A stream cannot be sent again: gRPC is never retried.
  const isGrpc = port !== undefined && ["GRPC", "GRPC-Web"].includes(port.protocol);
  const retryPolicy = isGrpc ? undefined : inboundRetryPolicy(traits.inboundRetries);
  const place = { side: "inbound", port: port?.port ?? unnamedPort ?? 0 } as const;
  const manager = connectionManager({
    traits,
    direction: "inbound",
    statPrefix,
    routes: inboundRoute({ cluster, operation, servicePort: port?.servicePort ?? 0, retryPolicy }),
    grpcWeb: port?.protocol === "GRPC-Web",
    http2: port !== undefined && isHttp2(port.protocol),
    port: place.port,
    policies: authorization.http,
  });
  const extensions = networkPolicyFilters(traits.extensions, place);
  const exchanges = traits.networkMetadata && isWithinTunnel !== true;
  return [...(exchanges ? [metadataExchange(traits.exchangedLabels)] : []), ...extensions, manager];
}

function tcpFiltersOf(
  { traits, authorization }: InboundChainInputs,
  { cluster, port, tcpStatPrefix }: InboundDestination,
): FilterChain["filters"] {
  const accessLog = traits.accessLogs.inbound.connection;
  // Of a connection the service's port counts, of a request the workload's, as in istiod.
  const place = { side: "inbound", port: port?.servicePort ?? 0 } as const;
  return [
    ...(traits.networkMetadata ? [metadataExchange(traits.exchangedLabels)] : []),
    ...networkPolicyFilters(traits.extensions, place, authorization.network),
    ...traits.stats.inbound.network,
    ...protocolProxy(port?.protocol ?? "TCP", traits.protocolFilters, {
      statPrefix: tcpStatPrefix,
      clusters: cluster,
      accessLog,
      idleTimeout: traits.idleTimeout,
    }),
  ];
}
