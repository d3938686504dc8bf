/** Listeners of a sidecar for outgoing calls, and single fields of them, of their routes and clusters. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, namesOf, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly objects?: readonly KubeObject[];
  readonly metadata?: JsonObject;
  readonly mesh?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

const entry = (name: string, address: string, port: JsonObject, more: JsonObject = {}) =>
  anEntry(name, { addresses: [address], ports: [port], ...more });
const tcp = { number: 9000, name: "tcp", protocol: "TCP" };
const tls = { number: 9443, name: "tls", protocol: "TLS" };
const services = [
  entry("a", "10.9.0.1", { number: 80, name: "http", protocol: "HTTP" }),
  entry("b", "10.9.0.2", tcp),
  entry("c", "10.9.0.3", tls),
  entry("d", "10.9.0.4", { number: 7000, name: "any", protocol: "" }),
];

function meshOf({ objects = [], mesh = {}, env = {} }: Given) {
  return aKubeMesh([...services, ...objects], { mesh, env });
}

const virtualService = (spec: JsonObject) => anObject("VirtualService", "shop/v", spec);
const to = (host: string, more: JsonObject = {}) => ({ destination: { host: `${host}.shop.example`, ...more } });
const sidecar = (spec: JsonObject) => anObject("Sidecar", "shop/s", spec);
const noInterception = { INTERCEPTION_MODE: "NONE" };

const names: readonly (readonly [name: string, given: Given, is: string])[] = [
  [
    "those of all services",
    {},
    "[10.9.0.2_9000, 10.9.0.3_9443, 0.0.0.0_80, 10.9.0.4_7000, virtualOutbound, virtualInbound]",
  ],
  [
    "those that a Sidecar lists",
    { objects: [sidecar({ egress: [{ hosts: ["./a.shop.example"] }] })] },
    "[0.0.0.0_80, virtualOutbound, virtualInbound]",
  ],
  [
    "those without interception",
    { metadata: noInterception },
    "[127.0.0.1_9000, 127.0.0.1_9443, 127.0.0.1_80, 127.0.0.1_7000]",
  ],
  [
    "with a proxy for HTTP",
    { mesh: { proxyHttpPort: 15002 } },
    "[10.9.0.2_9000, 10.9.0.3_9443, 0.0.0.0_80, 10.9.0.4_7000, 127.0.0.1_15002, virtualOutbound, virtualInbound]",
  ],
  [
    "of other namespaces' exports",
    {
      objects: [
        anObject("ServiceEntry", "bank/x", {
          hosts: ["x.example"],
          addresses: ["10.9.0.9"],
          ports: [tcp],
          resolution: "STATIC",
          exportTo: ["."],
          endpoints: [{ address: "10.0.0.7" }],
        }),
      ],
    },
    "[10.9.0.2_9000, 10.9.0.3_9443, 0.0.0.0_80, 10.9.0.4_7000, virtualOutbound, virtualInbound]",
  ],
];

const fields: readonly (readonly [
  name: string,
  given: Given,
  of: readonly ["listener" | "route" | "cluster", string],
  at: string,
  is: string,
])[] = [
  [
    "time to look at a connection",
    { mesh: { protocolDetectionTimeout: "3s" } },
    ["listener", "10.9.0.4_7000"],
    "listenerFiltersTimeout",
    "3s",
  ],
  ["no time to look at a known one", {}, ["listener", "10.9.0.2_9000"], "listenerFiltersTimeout", "0s"],
  ["going on after that time", {}, ["listener", "10.9.0.4_7000"], "continueOnListenerFiltersTimeout", "true"],
  [
    "filters of an unknown protocol",
    {},
    ["listener", "10.9.0.4_7000"],
    "listenerFilters",
    "[{name: envoy.filters.listener.http_inspector, typedConfig: {HttpInspector}}]",
  ],
  ["bound with interception", {}, ["listener", "10.9.0.2_9000"], "bindToPort", "false"],
  ["bound without it", { metadata: noInterception }, ["listener", "10.9.0.2_9000"], "bindToPort", "none"],
  [
    "the port of everything",
    {},
    ["listener", "virtualOutbound"],
    "address",
    "{socketAddress: {address: 0.0.0.0, portValue: 15001}}",
  ],
  [
    "another port of everything",
    { mesh: { proxyListenPort: 15555 } },
    ["listener", "virtualOutbound"],
    "address",
    "{socketAddress: {address: 0.0.0.0, portValue: 15555}}",
  ],
  [
    "what HTTP/1.0 may do",
    { env: { PILOT_HTTP10: "1" } },
    ["listener", "0.0.0.0_80"],
    "filterChains.0.filters.0.typedConfig.httpProtocolOptions",
    "{acceptHttp10: true}",
  ],
  [
    "a stream's idle time",
    {},
    ["listener", "0.0.0.0_80"],
    "filterChains.0.filters.0.typedConfig.streamIdleTimeout",
    "0s",
  ],
  [
    "upgrades",
    {},
    ["listener", "0.0.0.0_80"],
    "filterChains.0.filters.0.typedConfig.upgradeConfigs",
    "[{upgradeType: websocket}]",
  ],
  [
    "normal paths",
    { mesh: { pathNormalization: { normalization: "MERGE_SLASHES" } } },
    ["listener", "0.0.0.0_80"],
    "filterChains.0.filters.0.typedConfig.mergeSlashes",
    "true",
  ],
  [
    "idle TCP connections of a rule",
    {
      objects: [
        anObject("DestinationRule", "shop/b", {
          host: "b.shop.example",
          trafficPolicy: { connectionPool: { tcp: { idleTimeout: "7s" } } },
        }),
      ],
    },
    ["listener", "10.9.0.2_9000"],
    "filterChains.0.filters.0.typedConfig.idleTimeout",
    "7s",
  ],
  [
    "the hash of a rule",
    {
      objects: [
        anObject("DestinationRule", "shop/b", {
          host: "b.shop.example",
          trafficPolicy: { loadBalancer: { consistentHash: { useSourceIp: true } } },
        }),
      ],
    },
    ["listener", "10.9.0.2_9000"],
    "filterChains.0.filters.0.typedConfig.hashPolicy",
    "[{sourceIp: {}}]",
  ],
  [
    "a tunnel of a rule",
    {
      objects: [
        anObject("DestinationRule", "shop/b", {
          host: "b.shop.example",
          trafficPolicy: { tunnel: { protocol: "CONNECT", targetHost: "t.example", targetPort: 443 } },
        }),
        virtualService({ hosts: ["b.shop.example"], tcp: [{ route: [to("b")] }] }),
      ],
    },
    ["listener", "10.9.0.2_9000"],
    "filterChains.0.filters.0.typedConfig.tunnelingConfig",
    "{hostname: t.example:443}",
  ],
  [
    "other hosts pass through",
    {},
    ["route", "80"],
    "virtualHosts.1.routes.0",
    "{match: {prefix: /}, route: {cluster: PassthroughCluster, timeout: 0s, maxGrpcTimeout: 0s}, name: allow_any}",
  ],
  [
    "other hosts are refused",
    { mesh: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } } },
    ["route", "80"],
    "virtualHosts.1.routes.0",
    "{match: {prefix: /}, directResponse: {status: 502}, name: block_all}",
  ],
  [
    "other hosts go where a Sidecar says",
    {
      objects: [
        sidecar({
          outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy: { host: "a.shop.example", port: { number: 80 } } },
          egress: [{ hosts: ["*/*"] }],
        }),
      ],
    },
    ["route", "80"],
    "virtualHosts.1.routes.0.route.cluster",
    "outbound|80||a.shop.example",
  ],
  [
    "every domain of a port of any protocol, as one service has it alone",
    {},
    ["route", "d.shop.example:7000"],
    "virtualHosts.0.domains",
    "[*]",
  ],
  [
    "the route of a port of any protocol",
    {},
    ["route", "d.shop.example:7000"],
    "virtualHosts.0.routes.0.route.cluster",
    "outbound|7000||d.shop.example",
  ],
  ["domains of a host", {}, ["route", "80"], "virtualHosts.0.domains", "[a.shop.example, a.shop.example., 10.9.0.1]"],
  [
    "what a caller's IP is",
    {},
    ["listener", "0.0.0.0_80"],
    "filterChains.0.filters.0.typedConfig.useRemoteAddress",
    "false",
  ],
  [
    "the cluster of what passes",
    {},
    ["cluster", "PassthroughCluster"],
    "",
    "{name: PassthroughCluster, type: ORIGINAL_DST, connectTimeout: 10s, lbPolicy: CLUSTER_PROVIDED, circuitBreakers: {thresholds: [{maxConnections: 4294967295, maxPendingRequests: 4294967295, maxRequests: 4294967295, maxRetries: 4294967295}]}, altStatName: PassthroughCluster;, typedExtensionProtocolOptions: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {commonHttpProtocolOptions: {idleTimeout: 300s}, useDownstreamProtocolConfig: {httpProtocolOptions: {}, http2ProtocolOptions: {}}, HttpProtocolOptions}}, filters: [{name: istio.metadata_exchange, typedConfig: {typeUrl: type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange, value: {enable_discovery: true, protocol: istio-peer-exchange}, TypedStruct}}], Cluster}",
  ],
  [
    "the cluster of what is refused",
    {},
    ["cluster", "BlackHoleCluster"],
    "",
    "{name: BlackHoleCluster, type: STATIC, connectTimeout: 10s, altStatName: BlackHoleCluster;, Cluster}",
  ],
];

describe("names of listeners", () => {
  for (const [name, given, is] of names)
    it(name, () =>
      assert.equal(inShort([...namesOf(meshOf(given), aSidecar("shop", given.metadata), typeUrl.listener)]), is),
    );
});

describe("fields", () => {
  for (const [name, given, [type, of], at, is] of fields)
    it(name, () => {
      const found = resourceOf(meshOf(given), aSidecar("shop", given.metadata), typeUrl[type], of);
      assert.equal(inShort(fieldAt(found, at)), is);
    });
});
