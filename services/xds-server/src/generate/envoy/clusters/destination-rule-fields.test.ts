/** Each field of a DestinationRule's traffic policy as the field of Envoy's cluster that it becomes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../../testing/mesh.ts";

/** Its name, the policy, the field of the service's cluster, and what it is. */
type Case = readonly [name: string, trafficPolicy: JsonObject, at: string, is: string];

function cluster(trafficPolicy: JsonObject): JsonObject | undefined {
  const rule = anObject("DestinationRule", "shop/a", { host: "a.shop.example", trafficPolicy });
  const entry = anEntry("a", {
    endpoints: [
      { address: "10.0.0.2", locality: "r1/z1" },
      { address: "10.0.0.3", locality: "r2/z2", labels: { "security.istio.io/tlsMode": "istio" } },
    ],
  });
  const proxy = aSidecar("shop", { LABELS: { app: "web", version: "v1" } });
  return resourceOf(aKubeMesh([entry, rule]), proxy, typeUrl.cluster, "outbound|80||a.shop.example");
}

const tcp = (settings: JsonObject) => ({ connectionPool: { tcp: settings } });
const http = (settings: JsonObject) => ({ connectionPool: { http: settings } });
const detect = (outlierDetection: JsonObject) => ({ outlierDetection });
const balance = (loadBalancer: JsonObject) => ({ loadBalancer });
const protocol = "typedExtensionProtocolOptions";

const tables: Readonly<Record<string, readonly Case[]>> = {
  "connection pool": [
    [
      "no limits without a rule's word",
      {},
      "circuitBreakers",
      "{thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}",
    ],
    [
      "connections",
      tcp({ maxConnections: 7 }),
      "circuitBreakers",
      "{thresholds: [{maxConnections: 7, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}",
    ],
    ["a time to connect", tcp({ connectTimeout: "3s" }), "connectTimeout", "3s"],
    ["ten seconds to connect otherwise", {}, "connectTimeout", "10s"],
    [
      "keep-alive probes",
      tcp({ tcpKeepalive: { probes: 3, time: "5s", interval: "7s" } }),
      "upstreamConnectionOptions",
      "{tcpKeepalive: {keepaliveProbes: 3, keepaliveTime: 5, keepaliveInterval: 7}}",
    ],
    ["keep-alive by its defaults", tcp({ tcpKeepalive: {} }), "upstreamConnectionOptions", "{tcpKeepalive: {}}"],
    [
      "idle connections",
      tcp({ idleTimeout: "9s" }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 9s}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "a connection's age",
      tcp({ maxConnectionDuration: "11s" }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {maxConnectionDuration: 11s}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "waiting requests",
      http({ http1MaxPendingRequests: 3 }),
      "circuitBreakers",
      "{thresholds: [{maxConnections: 4294967295, maxPendingRequests: 3, maxRequests: 4294967295, maxRetries: 4294967295}]}",
    ],
    [
      "requests at once",
      http({ http2MaxRequests: 4 }),
      "circuitBreakers",
      "{thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4, maxRetries: 4294967295}]}",
    ],
    [
      "retries at once",
      http({ maxRetries: 5 }),
      "circuitBreakers",
      "{thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 5}]}",
    ],
    [
      "requests of a connection",
      http({ maxRequestsPerConnection: 6 }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {maxRequestsPerConnection: 6}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "streams of a connection",
      http({ maxConcurrentStreams: 8 }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "idle time of HTTP",
      http({ idleTimeout: "13s" }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 13s}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "HTTP/2 always",
      http({ h2UpgradePolicy: "UPGRADE" }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {explicitHttpConfig: {http2ProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    ["HTTP/2 never", http({ h2UpgradePolicy: "DO_NOT_UPGRADE" }), protocol, "none"],
    [
      "the client's protocol",
      http({ useClientProtocol: true }),
      protocol,
      "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {useDownstreamProtocolConfig: {httpProtocolOptions: {}, http2ProtocolOptions: {}}, HttpProtocolOptions}}",
    ],
    [
      "all at once",
      {
        connectionPool: {
          tcp: { maxConnections: 1 },
          http: { http1MaxPendingRequests: 2, http2MaxRequests: 3, maxRetries: 4 },
        },
      },
      "circuitBreakers",
      "{thresholds: [{maxConnections: 1, maxPendingRequests: 2, maxRequests: 3, maxRetries: 4}]}",
    ],
  ],
  "outlier detection": [
    ["none", {}, "outlierDetection", "none"],
    ["an empty one", detect({}), "outlierDetection", "{enforcingSuccessRate: 0}"],
    [
      "5xx errors in a row",
      detect({ consecutive5xxErrors: 3 }),
      "outlierDetection",
      "{consecutive5xx: 3, enforcingConsecutive5xx: 100, enforcingSuccessRate: 0}",
    ],
    [
      "no 5xx errors",
      detect({ consecutive5xxErrors: 0 }),
      "outlierDetection",
      "{consecutive5xx: 0, enforcingConsecutive5xx: 0, enforcingSuccessRate: 0}",
    ],
    [
      "gateway errors in a row",
      detect({ consecutiveGatewayErrors: 4 }),
      "outlierDetection",
      "{enforcingSuccessRate: 0, consecutiveGatewayFailure: 4, enforcingConsecutiveGatewayFailure: 100}",
    ],
    [
      "no gateway errors",
      detect({ consecutiveGatewayErrors: 0 }),
      "outlierDetection",
      "{enforcingSuccessRate: 0, consecutiveGatewayFailure: 0, enforcingConsecutiveGatewayFailure: 0}",
    ],
    [
      "times and shares",
      detect({ interval: "1s", baseEjectionTime: "2s", maxEjectionPercent: 50 }),
      "outlierDetection",
      "{interval: 1s, baseEjectionTime: 2s, maxEjectionPercent: 50, enforcingSuccessRate: 0}",
    ],
    [
      "errors of the host alone",
      detect({ splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 2 }),
      "outlierDetection",
      "{enforcingSuccessRate: 0, splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailure: 2, enforcingConsecutiveLocalOriginFailure: 100, enforcingLocalOriginSuccessRate: 0}",
    ],
    [
      "healthy hosts that must be left",
      detect({ minHealthPercent: 40 }),
      "commonLbConfig",
      "{healthyPanicThreshold: {value: 40}}",
    ],
    [
      "any share of healthy hosts",
      detect({ consecutive5xxErrors: 1 }),
      "commonLbConfig",
      "{healthyPanicThreshold: {}}",
    ],
  ],
  "load balancer": [
    ["least requests otherwise", {}, "lbPolicy", "LEAST_REQUEST"],
    ["round robin", balance({ simple: "ROUND_ROBIN" }), "lbPolicy", "none"],
    ["random", balance({ simple: "RANDOM" }), "lbPolicy", "RANDOM"],
    ["least connections", balance({ simple: "LEAST_CONN" }), "lbPolicy", "LEAST_REQUEST"],
    ["where callers were going", balance({ simple: "PASSTHROUGH" }), "lbPolicy", "CLUSTER_PROVIDED"],
    ["and so without endpoints", balance({ simple: "PASSTHROUGH" }), "type", "ORIGINAL_DST"],
    [
      "a slow start of round robin",
      balance({ simple: "ROUND_ROBIN", warmupDurationSecs: "30s" }),
      "roundRobinLbConfig",
      "{slowStartConfig: {slowStartWindow: 30s}}",
    ],
    [
      "a slow start of least requests",
      balance({ simple: "LEAST_REQUEST", warmup: { duration: "30s", minimumPercent: 20, aggression: 2 } }),
      "leastRequestLbConfig",
      "{slowStartConfig: {slowStartWindow: 30s, aggression: {defaultValue: 2, runtimeKey: (}, minWeightPercent: {value: 20}}}",
    ],
    [
      "a ring by a header",
      balance({ consistentHash: { httpHeaderName: "x", ringHash: { minimumRingSize: 9 } } }),
      "ringHashLbConfig",
      "{minimumRingSize: 9}",
    ],
    ["a ring's policy", balance({ consistentHash: { httpHeaderName: "x" } }), "lbPolicy", "RING_HASH"],
    [
      "Maglev",
      balance({ consistentHash: { useSourceIp: true, maglev: { tableSize: 11 } } }),
      "maglevLbConfig",
      "{tableSize: 11}",
    ],
    ["Maglev's policy", balance({ consistentHash: { useSourceIp: true, maglev: {} } }), "lbPolicy", "MAGLEV"],
    [
      "shares of localities",
      balance({ localityLbSetting: { distribute: [{ from: "*", to: { "r1/*": 60, "r2/*": 40 } }] } }),
      "commonLbConfig",
      "{healthyPanicThreshold: {}, localityWeightedLbConfig: {}}",
    ],
  ],
  TLS: [
    ["plain for endpoints without a sidecar", {}, "transportSocket", "none"],
    ["by the endpoint's label", {}, "transportSocketMatches.0.match", "{tlsMode: istio}"],
    [
      "and else plain",
      {},
      "transportSocketMatches.1",
      "{name: tlsMode-disabled, match: {}, transportSocket: {name: envoy.transport_sockets.raw_buffer, typedConfig: {RawBuffer}}}",
    ],
    ["disabled", { tls: { mode: "DISABLE" } }, "transportSocketMatches", "none"],
    [
      "simple",
      { tls: { mode: "SIMPLE", sni: "s.example", subjectAltNames: ["x"] } },
      "transportSocket",
      "{name: envoy.transport_sockets.tls, typedConfig: {commonTlsContext: {tlsParams: {tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_3}, combinedValidationContext: {defaultValidationContext: {matchSubjectAltNames: [{exact: x}]}, validationContextSdsSecretConfig: {name: file-root:system, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, resourceApiVersion: V3}}}}, sni: s.example, UpstreamTlsContext}}",
    ],
    [
      "simple without checking",
      { tls: { mode: "SIMPLE", insecureSkipVerify: true } },
      "transportSocket.typedConfig",
      "{commonTlsContext: {tlsParams: {tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_3}, validationContext: {}}, UpstreamTlsContext}",
    ],
    [
      "simple by a file",
      { tls: { mode: "SIMPLE", caCertificates: "/ca.pem", caCrl: "/crl.pem" } },
      "transportSocket.typedConfig",
      "{commonTlsContext: {tlsParams: {tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_3}, combinedValidationContext: {defaultValidationContext: {crl: {filename: /crl.pem}}, validationContextSdsSecretConfig: {name: file-root:/ca.pem, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, resourceApiVersion: V3}}}}, UpstreamTlsContext}",
    ],
    [
      "mutual by files",
      { tls: { mode: "MUTUAL", clientCertificate: "/c.pem", privateKey: "/k.pem", caCertificates: "/ca.pem" } },
      "transportSocket.typedConfig.commonTlsContext",
      "{tlsParams: {tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_3}, tlsCertificateSdsSecretConfigs: [{name: file-cert:/c.pem~/k.pem, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, resourceApiVersion: V3}}], combinedValidationContext: {defaultValidationContext: {}, validationContextSdsSecretConfig: {name: file-root:/ca.pem, sdsConfig: {apiConfigSource: {apiType: GRPC, grpcServices: [{envoyGrpc: {clusterName: sds-grpc}}], setNodeOnFirstMessageOnly: true, transportApiVersion: V3}, resourceApiVersion: V3}}}}",
    ],
    ["of the mesh, always", { tls: { mode: "ISTIO_MUTUAL", sni: "own" } }, "transportSocket.typedConfig.sni", "own"],
    ["of the mesh has no matches", { tls: { mode: "ISTIO_MUTUAL" } }, "transportSocketMatches", "none"],
    [
      "with the service's protocols",
      { tls: { mode: "ISTIO_MUTUAL" } },
      "transportSocket.typedConfig.commonTlsContext.alpnProtocols",
      "[istio-peer-exchange, istio]",
    ],
  ],
  "one port": [
    [
      "its settings in place of the rule's",
      {
        connectionPool: { tcp: { maxConnections: 1 } },
        portLevelSettings: [{ port: { number: 80 }, connectionPool: { tcp: { maxConnections: 2 } } }],
      },
      "circuitBreakers.thresholds.0.maxConnections",
      "2",
    ],
    [
      "another port's settings are not its own",
      {
        connectionPool: { tcp: { maxConnections: 1 } },
        portLevelSettings: [{ port: { number: 81 }, connectionPool: { tcp: { maxConnections: 2 } } }],
      },
      "circuitBreakers.thresholds.0.maxConnections",
      "1",
    ],
    [
      "a proxy header",
      { proxyProtocol: { version: "V2" } },
      "transportSocketMatches.1",
      "{name: tlsMode-disabled, match: {}, transportSocket: {name: envoy.transport_sockets.upstream_proxy_protocol, typedConfig: {config: {version: V2}, transportSocket: {name: envoy.transport_sockets.raw_buffer, typedConfig: {RawBuffer}}, ProxyProtocolUpstreamTransport}}}",
    ],
    [
      "a tunnel has no place in the cluster",
      { tunnel: { protocol: "CONNECT", targetHost: "t.example", targetPort: 443 } },
      "transportSocket",
      "none",
    ],
  ],
};

for (const [area, cases] of Object.entries(tables))
  describe(area, () => {
    for (const [name, policy, at, is] of cases) it(name, () => assert.equal(inShort(fieldAt(cluster(policy), at)), is));
  });
