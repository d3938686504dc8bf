/** Tunnels of a waypoint: single fields of the listeners and clusters that end and open them, and how the service of a connection is found. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { resourceOf } from "../../testing/mesh.ts";
import {
  aKubeService,
  aWaypoint,
  aWaypointMesh,
  hostOf,
  useWaypoint,
  type WaypointGiven,
} from "../../testing/waypoint.ts";

function entry(name: string, spec: JsonObject): KubeObject {
  return anObject("ServiceEntry", `shop/${name}`, { metadata: { labels: useWaypoint }, spec });
}

const webHttp = `inbound-vip|80|http|${hostOf("web")}`;
const tls = "transportSocket.typedConfig.commonTlsContext";
const http = { name: "http", port: 80 };

const fields: readonly (readonly [
  name: string,
  given: WaypointGiven,
  of: readonly ["listener" | "cluster" | "endpoint", string],
  at: string,
  is: string,
])[] = [
  [
    "the end of tunnels",
    {},
    ["listener", "connect_terminate"],
    "",
    "{name: connect_terminate, address: {socketAddress: {address: 0.0.0.0, portValue: 15008}}, filterChains: [{filters: [{name: envoy.filters.network.http_connection_manager, typedConfig: {statPrefix: connect_terminate, routeConfig: {name: default, virtualHosts: [{name: default, domains: [*], routes: [{match: {connectMatcher: {}}, route: {cluster: main_internal, upgradeConfigs: [{upgradeType: CONNECT, connectConfig: {}}]}}]}]}, httpFilters: [{name: waypoint_downstream_peer_metadata, typedConfig: {typeUrl: type.googleapis.com/io.istio.http.peer_metadata.Config, value: {downstream_discovery: [{workload_discovery: {}}], shared_with_upstream: true}, TypedStruct}}, {name: connect_authority, typedConfig: {onRequestHeaders: [{objectKey: envoy.filters.listener.original_dst.local_ip, formatString: {textFormatSource: {inlineString: %REQ(:AUTHORITY)%}}, sharedWithUpstream: ONCE}, {objectKey: io.istio.connect_authority, formatString: {textFormatSource: {inlineString: %REQ(:AUTHORITY)%}}, sharedWithUpstream: ONCE, factoryKey: istio.hashable_string}, {objectKey: envoy.filters.listener.original_dst.remote_ip, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_REMOTE_ADDRESS%}}, sharedWithUpstream: ONCE}, {objectKey: io.istio.peer_principal, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_PEER_URI_SAN%}}, sharedWithUpstream: ONCE, factoryKey: istio.hashable_string}, {objectKey: io.istio.local_principal, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_LOCAL_URI_SAN%}}, sharedWithUpstream: ONCE, factoryKey: istio.hashable_string}], Config}}, {name: envoy.filters.http.router, typedConfig: {Router}}], http2ProtocolOptions: {maxConcurrentStreams: 100, allowConnect: true, connectionKeepalive: {interval: 10s, timeout: 20s}}, serverName: istio-envoy, useRemoteAddress: false, forwardClientCertDetails: APPEND_FORWARD, setCurrentClientCertDetails: {subject: true, dns: true, uri: true}, upgradeConfigs: [{upgradeType: CONNECT}], streamIdleTimeout: 0s, HttpConnectionManager}}], transportSocket: {name: tls, typedConfig: {commonTlsContext: {tlsParams: {tlsMinimumProtocolVersion: TLSv1_3, tlsMaximumProtocolVersion: TLSv1_3}, alpnProtocols: [h2], tlsCertificateSdsSecretConfigs: [{name: default, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, initialFetchTimeout: 0s, resourceApiVersion: V3}}], combinedValidationContext: {defaultValidationContext: {matchTypedSubjectAltNames: [{sanType: URI, matcher: {prefix: spiffe://cluster.local/}}]}, validationContextSdsSecretConfig: {name: ROOTCA, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, initialFetchTimeout: 0s, resourceApiVersion: V3}}}}, requireClientCertificate: true, DownstreamTlsContext}}, name: default}], connectionBalanceConfig: {exactBalance: {}}, Listener}",
  ],
  [
    "the beginning of tunnels",
    {},
    ["listener", "connect_originate"],
    "",
    "{name: connect_originate, filterChains: [{filters: [{name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: connect_originate, cluster: connect_originate, tunnelingConfig: {hostname: %DOWNSTREAM_LOCAL_ADDRESS%}, TcpProxy}}]}], useOriginalDst: false, listenerFilters: [{name: envoy.filters.listener.original_dst, typedConfig: {OriginalDst}}], internalListener: {}, Listener}",
  ],
  [
    "the tunnel to another network",
    {},
    ["listener", "outer_connect_originate"],
    "",
    "{name: outer_connect_originate, filterChains: [{filters: [{name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: outer_connect_originate, cluster: outer_connect_originate, tunnelingConfig: {hostname: %FILTER_STATE(istio.double_hbone.hbone_target_address:PLAIN)%, headersToAdd: [{header: {key: x-istio-source, value: waypoint}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]}, TcpProxy}}]}], useOriginalDst: false, listenerFilters: [{name: envoy.filters.listener.original_dst, typedConfig: {OriginalDst}}], internalListener: {}, Listener}",
  ],
  [
    "the tunnel within it",
    { metadata: { NETWORK: "n1" } },
    ["listener", "inner_connect_originate"],
    "",
    "{name: inner_connect_originate, filterChains: [{filters: [{name: propagate_endpoint_metadata, typedConfig: {onNewConnection: [{objectKey: envoy.filters.listener.original_dst.local_ip, formatString: {textFormatSource: {inlineString: %DYNAMIC_METADATA(envoy.filters.listener.original_dst:local)%}}, sharedWithUpstream: TRANSITIVE}, {objectKey: istio.double_hbone.hbone_target_address, formatString: {textFormatSource: {inlineString: %DYNAMIC_METADATA(istio:double_hbone:hbone_target_address)%}}, sharedWithUpstream: TRANSITIVE, factoryKey: istio.hashable_string}], Config}}, {name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: inner_connect_originate, cluster: inner_connect_originate, tunnelingConfig: {hostname: %FILTER_STATE(istio.double_hbone.hbone_target_address:PLAIN)%, headersToAdd: [{header: {key: x-forwarded-network, value: n1}, appendAction: OVERWRITE_IF_EXISTS_OR_ADD}]}, TcpProxy}}]}], useOriginalDst: false, internalListener: {}, Listener}",
  ],
  [
    "states of tunnels without Istio's Envoy",
    { isStock: true },
    ["listener", "connect_terminate"],
    "filterChains.0.filters.0.typedConfig.httpFilters",
    "[{name: connect_authority, typedConfig: {onRequestHeaders: [{objectKey: envoy.filters.listener.original_dst.local_ip, formatString: {textFormatSource: {inlineString: %REQ(:AUTHORITY)%}}, sharedWithUpstream: ONCE}, {objectKey: io.istio.connect_authority, formatString: {textFormatSource: {inlineString: %REQ(:AUTHORITY)%}}, sharedWithUpstream: ONCE, factoryKey: envoy.string}, {objectKey: envoy.filters.listener.original_dst.remote_ip, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_REMOTE_ADDRESS%}}, sharedWithUpstream: ONCE}, {objectKey: io.istio.peer_principal, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_PEER_URI_SAN%}}, sharedWithUpstream: ONCE, factoryKey: envoy.string}, {objectKey: io.istio.local_principal, formatString: {textFormatSource: {inlineString: %DOWNSTREAM_LOCAL_URI_SAN%}}, sharedWithUpstream: ONCE, factoryKey: envoy.string}], Config}}, {name: envoy.filters.http.router, typedConfig: {Router}}]",
  ],
  [
    "TLS of tunnels by FIPS",
    { env: { COMPLIANCE_POLICY: "fips-140-2" } },
    ["listener", "connect_terminate"],
    "filterChains.0.transportSocket.typedConfig.commonTlsContext.tlsParams",
    "{tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_2}",
  ],
  [
    "peers of all trust domains",
    { mesh: { trustDomainAliases: ["old.example"] } },
    ["cluster", "connect_originate"],
    `${tls}.combinedValidationContext.defaultValidationContext`,
    "{matchTypedSubjectAltNames: [{sanType: URI, matcher: {prefix: spiffe://cluster.local/}}, {sanType: URI, matcher: {prefix: spiffe://old.example/}}, {sanType: URI, matcher: {prefix: spiffe://cluster.local/ns/shop/sa/}}]}",
  ],
  [
    "the cluster of tunnels",
    {},
    ["cluster", "connect_originate"],
    "",
    "{name: connect_originate, type: ORIGINAL_DST, connectTimeout: 10s, lbPolicy: CLUSTER_PROVIDED, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, cleanupInterval: 60s, transportSocket: {name: tls, typedConfig: {commonTlsContext: {tlsParams: {tlsMinimumProtocolVersion: TLSv1_3, tlsMaximumProtocolVersion: TLSv1_3}, alpnProtocols: [h2], tlsCertificateSdsSecretConfigs: [{name: default, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, initialFetchTimeout: 0s, resourceApiVersion: V3}}], combinedValidationContext: {defaultValidationContext: {matchTypedSubjectAltNames: [{sanType: URI, matcher: {prefix: spiffe://cluster.local/}}, {sanType: URI, matcher: {prefix: spiffe://cluster.local/ns/shop/sa/}}]}, validationContextSdsSecretConfig: {name: ROOTCA, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, initialFetchTimeout: 0s, resourceApiVersion: V3}}}}, UpstreamTlsContext}}, altStatName: connect_originate;, originalDstLbConfig: {upstreamPortOverride: 15008, metadataKey: {key: envoy.filters.listener.original_dst, path: [{key: waypoint}]}}, typedExtensionProtocolOptions: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 3600s}, explicitHttpConfig: {http2ProtocolOptions: {allowConnect: true}}, HttpProtocolOptions}}, Cluster}",
  ],
  [
    "windows of tunnels",
    { env: { PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE: "65536", PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE: "131072" } },
    ["cluster", "connect_originate"],
    "typedExtensionProtocolOptions",
    "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 3600s}, explicitHttpConfig: {http2ProtocolOptions: {initialStreamWindowSize: 65536, initialConnectionWindowSize: 131072, allowConnect: true}}, HttpProtocolOptions}}",
  ],
  [
    "the mesh's time to connect",
    { mesh: { connectTimeout: "3s" } },
    ["cluster", "outer_connect_originate"],
    "connectTimeout",
    "3s",
  ],
  [
    "the cluster to another network",
    {},
    ["cluster", "outer_connect_originate"],
    "originalDstLbConfig",
    "{upstreamPortOverride: 15008}",
  ],
  [
    "one call at a time through it",
    {},
    ["cluster", "outer_connect_originate"],
    "typedExtensionProtocolOptions",
    "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 3600s, maxRequestsPerConnection: 1}, explicitHttpConfig: {http2ProtocolOptions: {allowConnect: true}}, HttpProtocolOptions}}",
  ],
  [
    "peers at the end of it",
    {},
    ["cluster", "outer_connect_originate"],
    `${tls}.combinedValidationContext.defaultValidationContext`,
    "{matchTypedSubjectAltNames: [{sanType: URI, matcher: {prefix: spiffe://cluster.local/}}]}",
  ],
  [
    "the cluster within it",
    {},
    ["cluster", "inner_connect_originate"],
    "loadAssignment",
    "{clusterName: inner_connect_originate, endpoints: [{lbEndpoints: [{endpoint: {address: {envoyInternalAddress: {serverListenerName: outer_connect_originate}}}}]}]}",
  ],
  [
    "TLS within it",
    {},
    ["cluster", "inner_connect_originate"],
    "transportSocket.typedConfig.transportSocket.name",
    "tls",
  ],
  [
    "one call at a time within it",
    {},
    ["cluster", "inner_connect_originate"],
    "typedExtensionProtocolOptions",
    "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 3600s, maxRequestsPerConnection: 1}, explicitHttpConfig: {http2ProtocolOptions: {allowConnect: true}}, HttpProtocolOptions}}",
  ],
  [
    "the cluster of workloads themselves",
    {},
    ["cluster", "encap"],
    "",
    "{name: encap, type: STATIC, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, transportSocket: {name: internal_upstream, typedConfig: {transportSocket: {name: raw_buffer, typedConfig: {RawBuffer}}, InternalUpstreamTransport}}, altStatName: encap;, loadAssignment: {clusterName: encap, endpoints: [{lbEndpoints: [{endpoint: {address: {envoyInternalAddress: {serverListenerName: connect_originate}}}}]}]}, typedExtensionProtocolOptions: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 300s}, useDownstreamProtocolConfig: {httpProtocolOptions: {}, http2ProtocolOptions: {}}, HttpProtocolOptions}}, Cluster}",
  ],
  [
    "the cluster of what is within",
    {},
    ["cluster", "main_internal"],
    "",
    "{name: main_internal, type: STATIC, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, transportSocket: {name: internal_upstream, typedConfig: {transportSocket: {name: raw_buffer, typedConfig: {RawBuffer}}, InternalUpstreamTransport}}, altStatName: main_internal;, loadAssignment: {clusterName: main_internal, endpoints: [{lbEndpoints: [{endpoint: {address: {envoyInternalAddress: {serverListenerName: main_internal}}}}]}]}, typedExtensionProtocolOptions: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 300s}, useDownstreamProtocolConfig: {httpProtocolOptions: {}, http2ProtocolOptions: {}}, HttpProtocolOptions}}, Cluster}",
  ],
  [
    "who decides about a connection",
    {},
    ["listener", "main_internal"],
    "filterChainMatcher",
    "{matcherTree: {input: {name: ip, typedConfig: {DestinationIPInput}}, customMatch: {name: ip, typedConfig: {rangeMatchers: [{ranges: [{addressPrefix: 10.96.0.2, prefixLen: 32}], onMatch: {matcher: {matcherTree: {input: {name: port, typedConfig: {DestinationPortInput}}, exactMatchMap: {map: {7070: {action: {name: inbound-vip|7070|http|cart.shop.svc.cluster.local, typedConfig: {value: inbound-vip|7070|http|cart.shop.svc.cluster.local, StringValue}}}}}}}}}, {ranges: [{addressPrefix: 10.96.0.1, prefixLen: 32}], onMatch: {matcher: {matcherTree: {input: {name: port, typedConfig: {DestinationPortInput}}, exactMatchMap: {map: {80: {action: {name: inbound-vip|80|http|web.shop.svc.cluster.local, typedConfig: {value: inbound-vip|80|http|web.shop.svc.cluster.local, StringValue}}}, 9000: {action: {name: inbound-vip|9000|tcp|web.shop.svc.cluster.local, typedConfig: {value: inbound-vip|9000|tcp|web.shop.svc.cluster.local, StringValue}}}}}}}}}], IPMatcher}}}}",
  ],
  [
    "a chain of workloads themselves",
    {
      labels: { "istio.io/waypoint-for": "all" },
      objects: [
        anObject("Pod", "shop/p", {
          metadata: { labels: useWaypoint, annotations: { "ambient.istio.io/redirection": "enabled" } },
          spec: {},
          status: {
            phase: "Running",
            podIP: "10.0.0.5",
            podIPs: [{ ip: "10.0.0.5" }],
            conditions: [{ type: "Ready", status: "True" }],
          },
        }),
      ],
    },
    ["listener", "main_internal"],
    "filterChainMatcher.matcherTree.customMatch.typedConfig.rangeMatchers.2",
    "{ranges: [{addressPrefix: 10.0.0.5, prefixLen: 32}], onMatch: {matcher: {matcherTree: {input: {name: application-protocol, typedConfig: {ApplicationProtocolInput}}, exactMatchMap: {map: {'h2c': {action: {name: direct-http, typedConfig: {value: direct-http, StringValue}}}, 'http/1.1': {action: {name: direct-http, typedConfig: {value: direct-http, StringValue}}}}}}, onNoMatch: {action: {name: direct-tcp, typedConfig: {value: direct-tcp, StringValue}}}}}}",
  ],
  [
    "which first bytes are looked at",
    {},
    ["listener", "main_internal"],
    "listenerFilters",
    "[{name: envoy.filters.listener.original_dst, typedConfig: {OriginalDst}}, {name: envoy.filters.listener.http_inspector, typedConfig: {HttpInspector}, filterDisabled: {orMatch: {rules: [{destinationPortRange: {start: 80, end: 81}}, {destinationPortRange: {start: 7070, end: 7071}}, {destinationPortRange: {start: 9000, end: 9001}}]}}}]",
  ],
  [
    "those of ports that services have for both",
    { objects: [aKubeService("both", "10.96.0.9", [{ name: "tcp", port: 80 }])] },
    ["listener", "main_internal"],
    "listenerFilters.1.filterDisabled",
    "{orMatch: {rules: [{destinationPortRange: {start: 7070, end: 7071}}, {destinationPortRange: {start: 9000, end: 9001}}]}}",
  ],
  [
    "server names, of TLS ports alone",
    { objects: [aKubeService("tls", "10.96.0.9", [{ name: "tls", port: 9443 }])] },
    ["listener", "main_internal"],
    "listenerFilters.2",
    "{name: envoy.filters.listener.tls_inspector, typedConfig: {initialReadBufferSize: 512, TlsInspector}, filterDisabled: {orMatch: {rules: [{destinationPortRange: {start: 80, end: 81}}, {destinationPortRange: {start: 7070, end: 7071}}, {destinationPortRange: {start: 9000, end: 9001}}]}}}",
  ],
  [
    "a service without an address",
    {
      objects: [
        entry("none", {
          hosts: ["none.example"],
          resolution: "STATIC",
          location: "MESH_INTERNAL",
          ports: [{ number: 81, name: "http", protocol: "HTTP" }],
        }),
      ],
      env: { PILOT_ENABLE_IP_AUTOALLOCATE: "false" },
    },
    ["listener", "main_internal"],
    "filterChainMatcher.matcherTree.customMatch.typedConfig.rangeMatchers.1.ranges",
    "[{addressPrefix: 0.0.0.0, prefixLen: 32}]",
  ],
  [
    "a port without a protocol",
    { objects: [aKubeService("any", "10.96.0.9", [{ port: 7000 }])] },
    ["listener", "main_internal"],
    "filterChainMatcher.matcherTree.customMatch.typedConfig.rangeMatchers.0.onMatch.matcher.matcherTree.exactMatchMap.map",
    "{7000: {matcher: {matcherTree: {input: {name: application-protocol, typedConfig: {ApplicationProtocolInput}}, exactMatchMap: {map: {'h2c': {action: {name: inbound-vip|7000|http|any.shop.svc.cluster.local, typedConfig: {value: inbound-vip|7000|http|any.shop.svc.cluster.local, StringValue}}}, 'http/1.1': {action: {name: inbound-vip|7000|http|any.shop.svc.cluster.local, typedConfig: {value: inbound-vip|7000|http|any.shop.svc.cluster.local, StringValue}}}}}}, onNoMatch: {action: {name: inbound-vip|7000|tcp|any.shop.svc.cluster.local, typedConfig: {value: inbound-vip|7000|tcp|any.shop.svc.cluster.local, StringValue}}}}}}",
  ],
  [
    "an address of IPv6",
    { objects: [aKubeService("six", "2001:db8::9", [http])] },
    ["listener", "main_internal"],
    "filterChainMatcher.matcherTree.customMatch.typedConfig.rangeMatchers.1.ranges",
    "[{addressPrefix: 2001:db8::9, prefixLen: 128}]",
  ],
  [
    "a range of addresses",
    {
      objects: [
        entry("range", {
          hosts: ["range.example"],
          addresses: ["10.20.0.0/16"],
          resolution: "NONE",
          ports: [{ number: 81, name: "http", protocol: "HTTP" }],
        }),
      ],
    },
    ["listener", "main_internal"],
    "filterChainMatcher.matcherTree.customMatch.typedConfig.rangeMatchers.1.ranges",
    "[{addressPrefix: 10.20.0.0, prefixLen: 16}]",
  ],
  [
    "logs of the listener",
    { objects: [anObject("Telemetry", "shop/t", { accessLogging: [{ providers: [{ name: "envoy" }] }] })] },
    ["listener", "main_internal"],
    "accessLog.0.filter",
    "{responseFlagFilter: {flags: [NR]}}",
  ],
  [
    "the cluster of a service",
    {},
    ["cluster", webHttp],
    "",
    "{name: inbound-vip|80|http|web.shop.svc.cluster.local, type: EDS, edsClusterConfig: {edsConfig: {ads: {}, initialFetchTimeout: 0s, resourceApiVersion: V3}, serviceName: inbound-vip|80|http|web.shop.svc.cluster.local}, connectTimeout: 10s, lbPolicy: LEAST_REQUEST, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, transportSocket: {name: internal_upstream, typedConfig: {passthroughMetadata: [{kind: {host: {}}, name: envoy.filters.listener.original_dst}, {kind: {host: {}}, name: istio}], transportSocket: {name: raw_buffer, typedConfig: {RawBuffer}}, InternalUpstreamTransport}}, metadata: {filterMetadata: {istio: {services: [{host: web.shop.svc.cluster.local, name: web, namespace: shop}], subset: http}}}, commonLbConfig: {healthyPanicThreshold: {}}, altStatName: inbound-vip|80|http|web.shop.svc.cluster.local;, Cluster}",
  ],
];

describe("fields of a waypoint", () => {
  for (const [name, given, [type, of], at, is] of fields)
    it(name, () => {
      const found = resourceOf(aWaypointMesh(given), aWaypoint(given), typeUrl[type], of);
      assert.equal(inShort(fieldAt(found, at)), is);
    });
});
