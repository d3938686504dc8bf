/** The fields that all listeners of a proxy have in common: plain data, decided once a view. */
import type { Duration } from "@flotilla/proto";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { ProxyConfig_ConnectionSettings, ProxyConfig_ProxyHeaders } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import type { HTTPRetry } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { DnsCache } from "../clusters/dns-cache.ts";
import type { ExtensionFilter } from "../filters/extension-filters.ts";
import type { ProtocolFilters } from "../filters/network-filters.ts";
import type { TracingTraits } from "../filters/tracing.ts";

export type TrafficSide = "inbound" | "outbound";

export interface AccessLogs {
  /** For connection managers. */
  readonly request: readonly AccessLog[];
  /** For TCP proxies. */
  readonly connection: readonly AccessLog[];
  /** For whole listeners: only connections that no filter chain matched. */
  readonly listener: readonly AccessLog[];
  /** For beginnings of HBONE tunnels: only those that did not come about. */
  readonly tunnelStart: readonly AccessLog[];
  /** For tunnels that are passed on. As in istiod: failed ones where Telemetry names the providers, all in the mesh's own log file. */
  readonly tunnelPassed: readonly AccessLog[];
  /** For ends of HBONE tunnels: only requests that were turned down. */
  readonly tunnelEnd: readonly AccessLog[];
}

export interface StatsFilters {
  readonly http: readonly HttpFilter[];
  readonly network: readonly Filter[];
}

export interface ListenerTraits {
  /** Proxies exchange metadata of their workloads on TCP, respectively HTTP. */
  readonly networkMetadata: boolean;
  readonly httpMetadata: boolean;
  /** Peers offer each other the exchange on TCP. */
  readonly exchangesMetadata: boolean;
  readonly alpn: boolean;
  readonly acceptHttp10: boolean;
  /** `Expect: 100-continue` and its answers pass through the proxy as they are. */
  readonly passes100Continue: boolean;
  /** Connections that are accepted at once; none for all that wait. */
  readonly acceptedAtOnce: number | undefined;
  /** For a TLS handshake of outbound listeners and gateways; undefined for as long as it takes. */
  readonly handshakeTimeout: Duration | undefined;
  /** Protocols that mark plain HTTP when the first bytes of a connection are inspected. */
  readonly plainHttpProtocols: readonly string[];
  readonly normalizePath: boolean;
  readonly mergeSlashes: boolean;
  readonly unescapeSlashes: boolean;
  /** Limits, timeouts and normalization that the ProxyConfig states. */
  readonly connection: ProxyConfig_ConnectionSettings | undefined;
  /** Text of a duration, empty for Envoy's default. */
  readonly idleTimeout: string;
  /** Spread connections evenly over the proxy's threads. */
  readonly exactBalance: { readonly inbound: boolean; readonly outbound: boolean };
  /** Redirection keeps the caller's address (TPROXY). */
  readonly transparent: boolean;
  /** Callers are known by their address, not by x-forwarded-for. */
  readonly useRemoteAddress: boolean;
  /** Ranges of MeshNetworks, from which requests count as internal. */
  readonly internalRanges: readonly string[];
  /** They count so on every listener, not only where callers are known by their address. */
  readonly isAlwaysInternal: boolean;
  /** Labels that peers exchange beside the usual ones. */
  readonly exchangedLabels: readonly string[];
  readonly headers: ProxyConfig_ProxyHeaders | undefined;
  /** Filters that inspect protocols. */
  readonly protocolFilters: ProtocolFilters;
  /** Undefined where spans are switched off. */
  readonly tracing: Readonly<Record<"inbound" | "outbound", TracingTraits | undefined>>;
  /** Of requests that the workload receives, where the mesh states them. */
  readonly inboundRetries: HTTPRetry | undefined;
  /** The decision to trace is part of the request's id. */
  readonly samplesByRequestId: Readonly<Record<"inbound" | "outbound", boolean>>;
  readonly stats: Readonly<Record<"inbound" | "outbound", StatsFilters>>;
  readonly accessLogs: Readonly<Record<"inbound" | "outbound", AccessLogs>>;
  /** Of WasmPlugins and TrafficExtensions, in their order. */
  readonly extensions: readonly ExtensionFilter[];
  /** Sessions may be kept with one endpoint. */
  readonly sessions: boolean;
  /** Resolves the hosts of requests to nowhere known, where the mesh asks for that. */
  readonly unknownHosts: DnsCache | undefined;
  /** Where connections to nowhere known go: PassthroughCluster, BlackHoleCluster, or an egress proxy. */
  readonly fallbackCluster: string;
  readonly wildcardAddress: string;
  readonly loopbackAddress: string;
  readonly extraAddresses: readonly string[];
  /** Those of the listener that outbound traffic is redirected to. */
  readonly extraOutboundAddresses: readonly string[];
  readonly extraLoopbacks: readonly string[];
}
