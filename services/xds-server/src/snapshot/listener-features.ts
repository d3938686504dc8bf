/** Istio's feature switches that decide what listeners and their filters are like, by the names that istiod reads them under. */
import { decimal, duration, flag, integer, list } from "@flotilla/runtime/settings";

export const listenerFeatures = {
  metadataExchange: flag({
    env: "PILOT_ENABLE_METADATA_EXCHANGE",
    default: true,
    sentence: "Proxies exchange metadata of their workloads for telemetry.",
  }),
  exchangedLabels: list({
    env: "PILOT_MX_ADDITIONAL_LABELS",
    default: [],
    sentence: "Labels of workloads that proxies exchange for telemetry beside the usual ones.",
  }),
  disableMetadataExchangeAlpn: flag({
    env: "PILOT_DISABLE_MX_ALPN",
    default: false,
    sentence: "TLS handshakes do not offer the ALPN of the metadata exchange.",
  }),
  alpnFilter: flag({
    env: "PILOT_ENABLE_ALPN_FILTER",
    default: true,
    sentence: "Listeners carry Istio's ALPN filter, for callers whose protocol is detected.",
  }),
  mongoFilter: flag({ env: "PILOT_ENABLE_MONGO_FILTER", default: true, sentence: "Envoy's filter for MongoDB." }),
  mysqlFilter: flag({ env: "PILOT_ENABLE_MYSQL_FILTER", default: false, sentence: "Envoy's filter for MySQL." }),
  redisFilter: flag({ env: "PILOT_ENABLE_REDIS_FILTER", default: false, sentence: "Envoy's filter for Redis." }),
  quicListeners: flag({
    env: "PILOT_ENABLE_QUIC_LISTENERS",
    default: false,
    sentence: "HTTPS servers of gateways are reached by HTTP/3 too where their Service has the port for UDP.",
  }),
  passes100Continue: flag({
    env: "ENABLE_100_CONTINUE_HEADERS",
    default: true,
    sentence: "Expect: 100-continue and its answers pass through proxies as they are; otherwise Envoy answers itself.",
  }),
  acceptedAtOnce: integer({
    env: "MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP",
    default: 1,
    min: 0,
    max: 0xffff_ffff,
    sentence: "Connections that listeners of proxies accept at once; 0 for all that wait.",
  }),
  handshakeTimeoutMs: duration({
    env: "PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT",
    default: 15_000,
    min: 0,
    sentence: "Time for a TLS handshake with gateways and outbound listeners; 0s for as long as it takes.",
  }),
  unknownHostsMax: integer({
    env: "PILOT_ALLOW_ANY_DYNAMIC_DNS_MAX_HOSTS",
    default: 1024,
    min: 1,
    max: 0xffff_ffff,
    sentence:
      "Hosts that a proxy remembers where outbound traffic to unknown ones is resolved (ALLOW_ANY_DYNAMIC_DNS).",
  }),
  meshNetworksAreInternal: flag({
    env: "ENABLE_HCM_INTERNAL_NETWORKS",
    default: false,
    sentence:
      "Requests from ranges of MeshNetworks count as internal on every listener; otherwise where callers are known by their address.",
  }),
  ipv4OutboundOfIpv6: flag({
    env: "ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS",
    default: false,
    sentence: "Proxies with IPv6 addresses only take outbound IPv4 traffic too, and resolve names to both families.",
  }),
  http10: flag({ env: "PILOT_HTTP10", default: false, sentence: "Outbound listeners take HTTP/1.0." }),
  sidecarUseRemoteAddress: flag({
    env: "PILOT_SIDECAR_USE_REMOTE_ADDRESS",
    default: false,
    sentence: "Outbound listeners of sidecars add the caller's address to X-Forwarded-For.",
  }),
  traceSamplingPercent: decimal({
    env: "PILOT_TRACE_SAMPLING",
    default: 1,
    sentence:
      "Percentage of requests that are traced where no Telemetry sets it, from 0 to 100; any other number is 1.",
  }),
  headlessFilterChains: flag({
    env: "PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER",
    default: false,
    sentence:
      "TCP ports of headless services have one listener with a filter chain for each pod, otherwise a listener for each pod.",
  }),
  sidecarInboundListenerMerge: flag({
    env: "PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE",
    default: false,
    sentence: "Ports of services get inbound listeners beside the ingress listeners of a Sidecar.",
  }),
  tlsOnSidecarIngress: flag({
    env: "ENABLE_TLS_ON_SIDECAR_INGRESS",
    default: false,
    sentence: "The TLS settings of a Sidecar's ingress listeners take effect.",
  }),
} as const;
