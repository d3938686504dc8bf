/** What a sidecar's own ProxyConfig, its node and settings of the control plane change in its listeners and clusters. */
import { describe } from "node:test";
import { checkFields, type FieldCase } from "../../testing/sidecar-fields.ts";

const inbound = ["listener", "virtualInbound"] as const;
const outbound = ["listener", "0.0.0.0_80"] as const;
const everything = ["listener", "virtualOutbound"] as const;
/** The chain of port 80 without TLS. */
const manager = "filterChains.7.filters.1.typedConfig";
const first = "filterChains.0.filters.0.typedConfig";

const noMetadata = { PILOT_ENABLE_METADATA_EXCHANGE: "false" };
const resolving = { mesh: { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } } };
const unknown = "filterChains.1.filters.0.typedConfig.routeConfig.virtualHosts.0.routes.0";

const ofSettings: readonly FieldCase[] = [
  ["metadata of TCP peers", {}, inbound, "filterChains.5.filters.0.name", "istio.metadata_exchange"],
  [
    "no metadata of peers",
    { env: noMetadata },
    outbound,
    `${first}.httpFilters.0.name`,
    "envoy.filters.http.grpc_stats",
  ],
  [
    "no metadata of TCP peers",
    { env: noMetadata },
    ["listener", "10.9.0.1_9000"],
    "filterChains.0.filters.0.name",
    "envoy.filters.network.tcp_proxy",
  ],
  [
    "protocols of callers without metadata",
    { env: { PILOT_DISABLE_MX_ALPN: "true" } },
    inbound,
    "filterChains.1.filterChainMatch.applicationProtocols",
    "[istio-http/1.0, istio-http/1.1, istio-h2]",
  ],
  [
    "no ALPN filter",
    { env: { PILOT_ENABLE_ALPN_FILTER: "false" } },
    outbound,
    `${first}.httpFilters.1.name`,
    "envoy.filters.http.grpc_stats",
  ],
  [
    "HTTP/1.0 by the node",
    { metadata: { HTTP10: "1" } },
    inbound,
    `${manager}.httpProtocolOptions`,
    "{acceptHttp10: true}",
  ],
  [
    "HTTP/1.0 on ports of any protocol",
    { env: { PILOT_HTTP10: "true" } },
    ["listener", "10.9.0.1_7000"],
    "filterChains.0.filterChainMatch.applicationProtocols",
    "[http/1.0, http/1.1, h2c]",
  ],
  [
    "connections shared evenly",
    { metadata: { INBOUND_LISTENER_EXACT_BALANCE: "true" } },
    inbound,
    "connectionBalanceConfig",
    "{exactBalance: {}}",
  ],
  [
    "connections of its own calls shared evenly",
    { metadata: { OUTBOUND_LISTENER_EXACT_BALANCE: "true" } },
    outbound,
    "connectionBalanceConfig",
    "{exactBalance: {}}",
  ],
  [
    "connections shared as Envoy does",
    { metadata: { OUTBOUND_LISTENER_EXACT_BALANCE: "true" } },
    inbound,
    "connectionBalanceConfig",
    "none",
  ],
  ["callers' addresses kept", { metadata: { INTERCEPTION_MODE: "TPROXY" } }, everything, "transparent", "true"],
  ["callers' addresses replaced", {}, everything, "transparent", "none"],
  [
    "what callers' addresses are by the connection",
    { env: { PILOT_SIDECAR_USE_REMOTE_ADDRESS: "true" } },
    outbound,
    `${first}.useRemoteAddress`,
    "true",
  ],
  [
    "idle time of the node",
    { metadata: { IDLE_TIMEOUT: "33s" } },
    everything,
    "filterChains.1.filters.0.typedConfig.idleTimeout",
    "33s",
  ],
  [
    "escaped slashes",
    { mesh: { pathNormalization: { normalization: "DECODE_AND_MERGE_SLASHES" } } },
    inbound,
    `${manager}.pathWithEscapedSlashesAction`,
    "UNESCAPE_AND_FORWARD",
  ],
  [
    "paths as they are",
    { mesh: { pathNormalization: { normalization: "NONE" } } },
    inbound,
    `${manager}.normalizePath`,
    "false",
  ],
  [
    "paths of the base form",
    { mesh: { pathNormalization: { normalization: "BASE" } } },
    inbound,
    `${manager}.mergeSlashes`,
    "none",
  ],
  [
    "an address of IPv6",
    { address: "2001:db8::1" },
    everything,
    "address",
    "{socketAddress: {address: ::, portValue: 15001}}",
  ],
  [
    "addresses of both families",
    { address: "10.0.0.1", metadata: { INSTANCE_IPS: "10.0.0.1,2001:db8::1" }, env: { ISTIO_DUAL_STACK: "true" } },
    everything,
    "additionalAddresses",
    "[{address: {socketAddress: {address: ::, portValue: 15001}}}]",
  ],
  [
    "one family where the control plane knows of one",
    { address: "10.0.0.1", metadata: { INSTANCE_IPS: "10.0.0.1,2001:db8::1" } },
    everything,
    "additionalAddresses",
    "none",
  ],
  [
    "names of both families",
    { metadata: { INSTANCE_IPS: "10.0.0.1,2001:db8::1" }, env: { ISTIO_DUAL_STACK: "true" } },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsLookupFamily",
    "ALL",
  ],
  [
    "names of one family",
    { metadata: { INSTANCE_IPS: "10.0.0.1,2001:db8::1" } },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsLookupFamily",
    "V4_ONLY",
  ],
  [
    "names of IPv6",
    { address: "2001:db8::1" },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsLookupFamily",
    "V6_ONLY",
  ],
  [
    "queries of a socket",
    { env: { PILOT_DNS_CARES_UDP_MAX_QUERIES: "7" } },
    ["cluster", "outbound|81||b.shop.example"],
    "typedDnsResolverConfig",
    "{name: envoy.network.dns_resolver.cares, typedConfig: {udpMaxQueries: 7, CaresDnsResolverConfig}}",
  ],
  [
    "jitter of queries",
    { env: { PILOT_DNS_JITTER_DURATION: "1500ms" } },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsJitter",
    "1.500s",
  ],
  [
    "no jitter of queries",
    { env: { PILOT_DNS_JITTER_DURATION: "0s" } },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsJitter",
    "none",
  ],
  [
    "how often names are asked for",
    { mesh: { dnsRefreshRate: "9s" } },
    ["cluster", "outbound|81||b.shop.example"],
    "dnsRefreshRate",
    "9s",
  ],
  [
    "source addresses of the workload",
    { address: "2001:db8::1" },
    ["cluster", "inbound|80||"],
    "upstreamBindConfig",
    "{sourceAddress: {address: ::6, portValue: 0}}",
  ],
  [
    "source addresses of IPv4",
    {},
    ["cluster", "inbound|80||"],
    "upstreamBindConfig",
    "{sourceAddress: {address: 127.0.0.6, portValue: 0}}",
  ],
  [
    "the workload behind TPROXY",
    { metadata: { INTERCEPTION_MODE: "TPROXY" } },
    ["cluster", "inbound|80||"],
    "upstreamBindConfig",
    "{sourceAddress: {address: 127.0.0.6, portValue: 0}}",
  ],
  [
    "share of traces by the setting",
    { env: { PILOT_TRACE_SAMPLING: "25" } },
    inbound,
    `${manager}.tracing.randomSampling`,
    "{value: 25}",
  ],
  [
    "share of traces that makes no sense",
    { mesh: { defaultConfig: { tracing: { sampling: 101 } } } },
    inbound,
    `${manager}.tracing.randomSampling`,
    "{value: 1}",
  ],
  [
    "tracing of its own ProxyConfig",
    { metadata: { PROXY_CONFIG: { tracing: { sampling: 12 } } } },
    inbound,
    `${manager}.tracing.randomSampling`,
    "{value: 12}",
  ],
  [
    "the longest tag of its own ProxyConfig",
    { mesh: { defaultConfig: { tracing: { maxPathTagLength: 99 } } } },
    inbound,
    `${manager}.tracing.maxPathTagLength`,
    "99",
  ],
  ["no tracing", { mesh: { enableTracing: false } }, inbound, `${manager}.tracing`, "none"],
  ["no looking at calls of unknown hosts", {}, everything, "listenerFilters", "none"],
  [
    "looking at calls of unknown hosts that are resolved",
    resolving,
    everything,
    "listenerFilters",
    "[{name: envoy.filters.listener.http_inspector, typedConfig: {HttpInspector}}]",
  ],
  [
    "requests of unknown hosts that are resolved",
    resolving,
    everything,
    "filterChains.1.filterChainMatch",
    "{applicationProtocols: [http/1.1, h2c]}",
  ],
  [
    "where such requests go",
    resolving,
    everything,
    `${unknown}.route`,
    "{cluster: AllowAnyDynamicDNSCluster, timeout: 0s, maxGrpcTimeout: 0s}",
  ],
  [
    "which host such requests ask for",
    { mesh: { ...resolving.mesh, defaultConfig: { proxyHeaders: { xForwardedHost: { enabled: true } } } } },
    everything,
    `${unknown}.route.appendXForwardedHost`,
    "true",
  ],
  [
    "other calls of unknown hosts",
    resolving,
    everything,
    "filterChains.2.filters.0.typedConfig.cluster",
    "PassthroughCluster",
  ],
];

describe("settings of a sidecar", () => checkFields(ofSettings));
