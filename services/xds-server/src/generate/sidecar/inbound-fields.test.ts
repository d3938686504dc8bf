/** Resources that a sidecar has for its own ports: chains of virtualInbound and inbound clusters, by objects that select it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, type TypeUrl, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly objects?: readonly KubeObject[];
  readonly ports?: readonly JsonObject[];
  readonly metadata?: JsonObject;
  readonly mesh?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

/** The service `a` of which the proxy is an endpoint, with one port `http` 80 unless it has others. */
function meshOf({ objects = [], ports, mesh = {}, env = {} }: Given) {
  const own = anEntry("a", {
    endpoints: [{ address: "10.0.0.1", labels: { app: "web" } }],
    ...(ports && { ports: [...ports] }),
  });
  return aKubeMesh([own, ...objects], { mesh, env });
}

function resource(given: Given, type: TypeUrl, name: string): JsonObject | undefined {
  return resourceOf(meshOf(given), aSidecar("shop", given.metadata), type, name);
}

/** `name PORT transport protocols: filters` of each chain for a port. */
function chains(given: Given, port: number): readonly string[] {
  const found = fieldAt(resource(given, typeUrl.listener, "virtualInbound"), "filterChains") as readonly JsonObject[];
  return found.flatMap((chain) => {
    const match = (chain["filterChainMatch"] ?? {}) as JsonObject;
    if (match["destinationPort"] !== port) return [];
    const filters = (chain["filters"] as readonly JsonObject[]).map(({ name }) => String(name).replace(/^.*\./, ""));
    const by = [match["transportProtocol"] ?? "any", ...((match["applicationProtocols"] as string[]) ?? [])];
    return [`${by.join(" ")}: ${filters.filter((name) => name !== "metadata_exchange").join(" ")}`];
  });
}

const peers = (spec: JsonObject) =>
  anObject("PeerAuthentication", "shop/p", { selector: { matchLabels: { app: "web" } }, ...spec });
const ingress = (...listeners: readonly JsonObject[]) =>
  anObject("Sidecar", "shop/s", { ingress: [...listeners], egress: [{ hosts: ["./*"] }] });
const http = { number: 8080, protocol: "HTTP", name: "http" };
const withTls = { ENABLE_TLS_ON_SIDECAR_INGRESS: "true" };
const tcp = { number: 8080, protocol: "TCP", name: "tcp" };

const portCases: readonly (readonly [name: string, given: Given, port: number, is: string])[] = [
  [
    "HTTP is permissive without a policy",
    {},
    80,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
  [
    "HTTP/2",
    { ports: [{ number: 80, name: "grpc", protocol: "GRPC" }] },
    80,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
  [
    "TCP",
    { ports: [{ number: 80, name: "tcp", protocol: "TCP" }] },
    80,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: tcp_proxy, tls: tcp_proxy, raw_buffer: tcp_proxy]",
  ],
  [
    "an undeclared protocol",
    { ports: [{ number: 80, name: "x", protocol: "" }] },
    80,
    "[tls istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer http/1.1 h2c: http_connection_manager, tls istio-peer-exchange istio: tcp_proxy, raw_buffer: tcp_proxy, tls: tcp_proxy]",
  ],
  [
    "TLS of the service's own",
    { ports: [{ number: 80, name: "tls", protocol: "TLS" }] },
    80,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: tcp_proxy, tls: tcp_proxy, raw_buffer: tcp_proxy]",
  ],
  ["STRICT", { objects: [peers({ mtls: { mode: "STRICT" } })] }, 80, "[tls: http_connection_manager]"],
  [
    "STRICT TCP",
    { objects: [peers({ mtls: { mode: "STRICT" } })], ports: [{ number: 80, name: "tcp", protocol: "TCP" }] },
    80,
    "[tls: tcp_proxy]",
  ],
  [
    "a port of a Sidecar that is redirected",
    { objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    8080,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
  [
    "a port of a Sidecar that is not redirected",
    { objects: [ingress({ port: http, captureMode: "NONE", defaultEndpoint: "127.0.0.1:9000" })] },
    8080,
    "[]",
  ],
  ["DISABLE", { objects: [peers({ mtls: { mode: "DISABLE" } })] }, 80, "[raw_buffer: http_connection_manager]"],
  [
    "DISABLE TCP",
    { objects: [peers({ mtls: { mode: "DISABLE" } })], ports: [{ number: 80, name: "tcp", protocol: "TCP" }] },
    80,
    "[raw_buffer: tcp_proxy]",
  ],
  [
    "a port of its own mode",
    { objects: [peers({ mtls: { mode: "STRICT" }, portLevelMtls: { 80: { mode: "DISABLE" } } })] },
    80,
    "[raw_buffer: http_connection_manager]",
  ],
  [
    "another port's mode is not its own",
    { objects: [peers({ mtls: { mode: "STRICT" }, portLevelMtls: { 81: { mode: "DISABLE" } } })] },
    80,
    "[tls: http_connection_manager]",
  ],
  [
    "a port of its own mode that nothing else names",
    { objects: [peers({ portLevelMtls: { 81: { mode: "DISABLE" } } })] },
    81,
    "[raw_buffer http/1.1 h2c: http_connection_manager, raw_buffer: tcp_proxy]",
  ],
  [
    "a port of its own mode that a listener of the Sidecar binds",
    {
      objects: [
        peers({ portLevelMtls: { 8080: { mode: "DISABLE" } } }),
        ingress({ port: http, bind: "0.0.0.0", captureMode: "NONE" }),
      ],
    },
    8080,
    "[]",
  ],
  [
    "the endpoint's port",
    { ports: [{ number: 80, targetPort: 8080, name: "http", protocol: "HTTP" }] },
    8080,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
  [
    "not the service's port then",
    { ports: [{ number: 80, targetPort: 8080, name: "http", protocol: "HTTP" }] },
    80,
    "[]",
  ],
  [
    "a Sidecar's own port",
    { objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    8080,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
  [
    "a Sidecar's TCP port",
    { objects: [ingress({ port: tcp, defaultEndpoint: "127.0.0.1:9000" })] },
    8080,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: tcp_proxy, tls: tcp_proxy, raw_buffer: tcp_proxy]",
  ],
  [
    "with a Sidecar the service's ports are no more",
    { objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    80,
    "[]",
  ],
  [
    "a Sidecar's TLS where the mesh's is disabled",
    {
      env: withTls,
      objects: [
        peers({ mtls: { mode: "DISABLE" } }),
        ingress({
          port: { ...http, protocol: "HTTPS" },
          defaultEndpoint: "127.0.0.1:9000",
          tls: { mode: "SIMPLE", privateKey: "/k", serverCertificate: "/c" },
        }),
      ],
    },
    8080,
    "[tls: http_connection_manager]",
  ],
  [
    "a Sidecar's TLS of TCP",
    {
      env: withTls,
      objects: [
        peers({ mtls: { mode: "DISABLE" } }),
        ingress({
          port: { ...tcp, protocol: "TLS" },
          defaultEndpoint: "127.0.0.1:9000",
          tls: { mode: "MUTUAL", privateKey: "/k", serverCertificate: "/c", caCertificates: "/ca" },
        }),
      ],
    },
    8080,
    "[tls: tcp_proxy]",
  ],
  [
    "a Sidecar's TLS that is switched off",
    {
      objects: [
        peers({ mtls: { mode: "DISABLE" } }),
        ingress({
          port: { ...http, protocol: "HTTPS" },
          defaultEndpoint: "127.0.0.1:9000",
          tls: { mode: "SIMPLE", privateKey: "/k", serverCertificate: "/c" },
        }),
      ],
    },
    8080,
    "[raw_buffer: tcp_proxy]",
  ],
  [
    "a Sidecar's TLS beside mesh TLS is not used",
    {
      env: withTls,
      objects: [
        ingress({
          port: { ...http, protocol: "HTTPS" },
          defaultEndpoint: "127.0.0.1:9000",
          tls: { mode: "SIMPLE", privateKey: "/k", serverCertificate: "/c" },
        }),
      ],
    },
    8080,
    "[tls istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2: http_connection_manager, raw_buffer: http_connection_manager]",
  ],
];

const noInterception = { INTERCEPTION_MODE: "NONE" };
const inbound = ["listener", "virtualInbound"] as const;
const fields: readonly (readonly [
  name: string,
  given: Given,
  of: readonly ["listener" | "cluster", string],
  at: string,
  is: string,
])[] = [
  [
    "the addresses of two families",
    { metadata: { INSTANCE_IPS: "10.0.0.1,fd00::1" }, env: { ISTIO_DUAL_STACK: "true" } },
    inbound,
    "additionalAddresses",
    "[{address: {socketAddress: {address: ::, portValue: 15006}}}]",
  ],
  [
    "how it looks at connections",
    {},
    inbound,
    "listenerFilters",
    "[{name: envoy.filters.listener.original_dst, typedConfig: {OriginalDst}}, {name: envoy.filters.listener.tls_inspector, typedConfig: {initialReadBufferSize: 512, TlsInspector}, filterDisabled: {destinationPortRange: {start: 15006, end: 15007}}}, {name: envoy.filters.listener.http_inspector, typedConfig: {HttpInspector}, filterDisabled: {orMatch: {rules: [{destinationPortRange: {start: 80, end: 81}}, {destinationPortRange: {start: 15006, end: 15007}}]}}}]",
  ],
  [
    "the local address of the cluster",
    {},
    ["cluster", "inbound|80||"],
    "",
    "{name: inbound|80||, type: ORIGINAL_DST, connectTimeout: 10s, lbPolicy: CLUSTER_PROVIDED, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, cleanupInterval: 9223372035s, upstreamBindConfig: {sourceAddress: {address: 127.0.0.6, portValue: 0}}, metadata: {filterMetadata: {istio: {services: [{host: a.shop.example, name: a.shop.example, namespace: shop}]}}}, commonLbConfig: {}, altStatName: inbound|80||;, Cluster}",
  ],
  [
    "a listener of its own for a service's port beside a Sidecar's",
    {
      metadata: { ...noInterception, INSTANCE_IPS: "10.0.0.1,fd00::1" },
      objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })],
      env: { PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE: "true", ISTIO_DUAL_STACK: "true" },
    },
    ["listener", "0.0.0.0_80"],
    "additionalAddresses",
    "[{address: {socketAddress: {address: ::, portValue: 80}}}]",
  ],
  [
    "statistics of a Sidecar's port by the service of the workload's port",
    {
      ports: [{ number: 81, targetPort: 8080, name: "http", protocol: "HTTP" }],
      objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })],
      mesh: { inboundClusterStatName: "%SERVICE%.%SERVICE_PORT%" },
    },
    ["cluster", "inbound|8080||"],
    "altStatName",
    "a.shop.example.8080;",
  ],
  [
    "statistics of a Sidecar's port that no service has by the Sidecar",
    {
      objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })],
      mesh: { inboundClusterStatName: "%SERVICE%.%SERVICE_PORT%" },
    },
    ["cluster", "inbound|8080||"],
    "altStatName",
    "s.shop.8080;",
  ],
  [
    "a Sidecar's endpoint",
    { objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    ["cluster", "inbound|8080||"],
    "loadAssignment",
    "{clusterName: inbound|8080||, endpoints: [{lbEndpoints: [{endpoint: {address: {socketAddress: {address: 127.0.0.1, portValue: 9000}}}}]}]}",
  ],
  [
    "a Sidecar's endpoint of the instance",
    { objects: [ingress({ port: http, defaultEndpoint: "0.0.0.0:9000" })] },
    ["cluster", "inbound|8080||"],
    "loadAssignment",
    "{clusterName: inbound|8080||, endpoints: [{lbEndpoints: [{endpoint: {address: {socketAddress: {address: 10.0.0.1, portValue: 9000}}}}]}]}",
  ],
  [
    "a Sidecar's IPv6 loopback becomes that of the proxy's family",
    { objects: [ingress({ port: http, defaultEndpoint: "[::1]:9000" })] },
    ["cluster", "inbound|8080||"],
    "loadAssignment",
    "{clusterName: inbound|8080||, endpoints: [{lbEndpoints: [{endpoint: {address: {socketAddress: {address: 127.0.0.1, portValue: 9000}}}}]}]}",
  ],
  [
    "a Sidecar's socket",
    { objects: [ingress({ port: http, defaultEndpoint: "unix:///var/run/a.sock" })] },
    ["cluster", "inbound|8080||"],
    "loadAssignment",
    "{clusterName: inbound|8080||, endpoints: [{lbEndpoints: [{endpoint: {address: {pipe: {path: /var/run/a.sock}}}}]}]}",
  ],
  [
    "a Sidecar without an endpoint",
    { objects: [ingress({ port: http })] },
    ["cluster", "inbound|8080||"],
    "loadAssignment",
    "none",
  ],
  [
    "limits of a Sidecar",
    {
      objects: [
        anObject("Sidecar", "shop/s", {
          inboundConnectionPool: {
            tcp: { maxConnections: 7 },
            http: { http1MaxPendingRequests: 8, maxRequestsPerConnection: 9, idleTimeout: "3s" },
          },
          egress: [{ hosts: ["./*"] }],
        }),
      ],
    },
    ["cluster", "inbound|80||"],
    "",
    "{name: inbound|80||, type: ORIGINAL_DST, connectTimeout: 10s, lbPolicy: CLUSTER_PROVIDED, circuitBreakers: {thresholds: [{maxConnections: 7, maxPendingRequests: 8, maxRequests: 4294967295, maxRetries: 4294967295}]}, cleanupInterval: 9223372035s, upstreamBindConfig: {sourceAddress: {address: 127.0.0.6, portValue: 0}}, metadata: {filterMetadata: {istio: {services: [{host: a.shop.example, name: a.shop.example, namespace: shop}]}}}, commonLbConfig: {}, altStatName: inbound|80||;, typedExtensionProtocolOptions: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 3s, maxRequestsPerConnection: 9}, explicitHttpConfig: {httpProtocolOptions: {}}, HttpProtocolOptions}}, Cluster}",
  ],
  [
    "limits of one port of a Sidecar",
    {
      objects: [
        ingress({ port: http, defaultEndpoint: "127.0.0.1:9000", connectionPool: { tcp: { maxConnections: 3 } } }),
      ],
    },
    ["cluster", "inbound|8080||"],
    "circuitBreakers",
    "{thresholds: [{maxConnections: 3, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}",
  ],
  [
    "HTTP/2 to the workload",
    { ports: [{ number: 80, name: "grpc", protocol: "GRPC" }] },
    ["cluster", "inbound|80||"],
    "typedExtensionProtocolOptions",
    "{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {explicitHttpConfig: {http2ProtocolOptions: {}}, HttpProtocolOptions}}",
  ],
  [
    "a rule's limits hold for calls that come in",
    {
      objects: [
        anObject("DestinationRule", "shop/a", {
          host: "a.shop.example",
          trafficPolicy: { connectionPool: { tcp: { maxConnections: 5, idleTimeout: "2s" } } },
        }),
      ],
    },
    ["cluster", "inbound|80||"],
    "circuitBreakers",
    "{thresholds: [{maxConnections: 5, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}",
  ],
  [
    "what the mesh waits for a connection",
    { mesh: { connectTimeout: "4s" } },
    ["cluster", "inbound|80||"],
    "connectTimeout",
    "4s",
  ],
  [
    "without interception a listener of its own for each port",
    { metadata: noInterception, objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    ["listener", "10.0.0.1_8080"],
    "address",
    "{socketAddress: {address: 10.0.0.1, portValue: 8080}}",
  ],
  [
    "whose chains are those of its port",
    { metadata: noInterception, objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    ["listener", "10.0.0.1_8080"],
    "filterChains.0.filterChainMatch",
    "{destinationPort: 8080, transportProtocol: tls, applicationProtocols: [istio, istio-peer-exchange, istio-http/1.0, istio-http/1.1, istio-h2]}",
  ],
  [
    "at the address that the Sidecar binds",
    {
      metadata: noInterception,
      objects: [ingress({ port: http, bind: "10.1.1.1", defaultEndpoint: "127.0.0.1:9000" })],
    },
    ["listener", "10.1.1.1_8080"],
    "address",
    "{socketAddress: {address: 10.1.1.1, portValue: 8080}}",
  ],
  [
    "which logs connections that no chain takes",
    {
      metadata: noInterception,
      objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })],
      mesh: { accessLogFile: "/dev/stdout" },
    },
    ["listener", "10.0.0.1_8080"],
    "accessLog.0.filter",
    "{responseFlagFilter: {flags: [NR]}}",
  ],
];

const clusterNames: readonly (readonly [name: string, given: Given, is: string])[] = [
  ["one for the service's port", {}, "[inbound|80||]"],
  [
    "one for each port",
    {
      ports: [
        { number: 80, name: "http", protocol: "HTTP" },
        { number: 90, name: "tcp", protocol: "TCP" },
      ],
    },
    "[inbound|80||, inbound|90||]",
  ],
  [
    "by the endpoint's port where it is another",
    { ports: [{ number: 80, targetPort: 8080, name: "http", protocol: "HTTP" }] },
    "[inbound|8080||]",
  ],
  [
    "a Sidecar's ports",
    {
      objects: [
        ingress(
          { port: http, defaultEndpoint: "127.0.0.1:9000" },
          { port: { ...tcp, number: 9090 }, defaultEndpoint: "127.0.0.1:9001" },
        ),
      ],
    },
    "[inbound|8080||, inbound|9090||]",
  ],
  [
    "a Sidecar's ports of a proxy without interception",
    { metadata: noInterception, objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })] },
    "[inbound|8080||]",
  ],
  [
    "a Sidecar's and its services' ports of a proxy without interception",
    {
      metadata: noInterception,
      objects: [ingress({ port: http, defaultEndpoint: "127.0.0.1:9000" })],
      env: { PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE: "true" },
    },
    "[inbound|80||, inbound|8080||]",
  ],
  ["none for a proxy without interception", { metadata: noInterception }, "[]"],
];

describe("chains of a port", () => {
  for (const [name, given, port, is] of portCases) it(name, () => assert.equal(inShort([...chains(given, port)]), is));
});

describe("fields", () => {
  for (const [name, given, [type, of], at, is] of fields)
    it(name, () => assert.equal(inShort(fieldAt(resource(given, typeUrl[type], of), at)), is));
});

describe("inbound clusters", () => {
  for (const [name, given, is] of clusterNames)
    it(name, () => {
      const names = namesOf(meshOf(given), aSidecar("shop", given.metadata), typeUrl.cluster);
      assert.equal(inShort(names.filter((one) => one.startsWith("inbound"))), is);
    });
});
