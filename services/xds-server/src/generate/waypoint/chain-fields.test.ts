/** Clusters of a waypoint, and single fields of the chains of its services within tunnels. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { namesOf, resourceOf } from "../../testing/mesh.ts";
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

const rule = (name: string, spec: JsonObject) =>
  anObject("DestinationRule", `shop/${name}`, { host: hostOf(name), ...spec });
const virtualService = (spec: JsonObject, path = "shop/v") =>
  anObject("VirtualService", path, { hosts: [hostOf("web")], ...spec });
const to = (name: string, more: JsonObject = {}) => ({ destination: { host: hostOf(name), ...more } });
const anyHost = { hosts: ["*.wild.example"], resolution: "DYNAMIC_DNS", location: "MESH_EXTERNAL" };

const clusters: readonly (readonly [name: string, given: WaypointGiven, is: string])[] = [
  [
    "one a port and layer",
    {},
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "one a subset",
    { objects: [rule("web", { subsets: [{ name: "v1", labels: { version: "v1" } }] })] },
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|80|http/v1|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local, inbound-vip|9000|tcp/v1|web.shop.svc.cluster.local]",
  ],
  [
    "both layers of a port without a protocol",
    { objects: [aKubeService("any", "10.96.0.9", [{ port: 7000 }])] },
    "[inbound-vip|7000|tcp|any.shop.svc.cluster.local, inbound-vip|7000|http|any.shop.svc.cluster.local, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "none for hosts within the mesh that are resolved as requests come",
    {
      objects: [
        entry("wild", {
          ...anyHost,
          location: "MESH_INTERNAL",
          ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        }),
      ],
    },
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "none for datagrams",
    { objects: [aKubeService("dns", "10.96.0.9", [{ name: "dns", port: 53, protocol: "UDP" }])] },
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "none for a name without endpoints",
    {
      objects: [
        entry("gone", {
          hosts: ["gone.example"],
          resolution: "DNS",
          ports: [{ number: 80, name: "http", protocol: "HTTP" }],
          workloadSelector: { labels: { app: "gone" } },
        }),
      ],
    },
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "those of requests below a wildcard, without subsets",
    {
      objects: [
        entry("wild", {
          ...anyHost,
          ports: [
            { number: 80, name: "http", protocol: "HTTP" },
            { number: 443, name: "tls", protocol: "TLS" },
          ],
        }),
        anObject("DestinationRule", "shop/wild", { host: "*.wild.example", subsets: [{ name: "v1" }] }),
      ],
    },
    "[inbound-vip|80|http|*.wild.example, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "those of TLS below a wildcard where they are allowed",
    {
      objects: [entry("wild", { ...anyHost, ports: [{ number: 443, name: "tls", protocol: "TLS" }] })],
      env: { ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS: "true" },
    },
    "[inbound-vip|443|tcp|*.wild.example, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "those that routes lead to besides",
    { objects: [virtualService({ http: [{ route: [to("free")] }] })] },
    "[outbound|80||free.shop.svc.cluster.local, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "those that routes of other namespaces lead to, exported or not",
    { objects: [virtualService({ http: [{ route: [to("free")] }], exportTo: ["."] }, "bank/v")] },
    "[outbound|80||free.shop.svc.cluster.local, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "none for routes of other namespaces that name no host behind it",
    { objects: [virtualService({ hosts: ["*.shop.svc.cluster.local"], http: [{ route: [to("free")] }] }, "bank/v")] },
    "[inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "the issuer of tokens",
    {
      objects: [
        anObject("RequestAuthentication", "shop/r", {
          targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "waypoint" }],
          jwtRules: [{ issuer: "i", jwksUri: "http://free.shop.svc.cluster.local/keys" }],
        }),
      ],
      env: { PILOT_JWT_ENABLE_REMOTE_JWKS: "envoy" },
    },
    "[outbound|80||free.shop.svc.cluster.local, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  [
    "the service that decides for others",
    {
      objects: [
        anObject("AuthorizationPolicy", "shop/a", {
          action: "CUSTOM",
          provider: { name: "p" },
          targetRefs: [{ group: "", kind: "Service", name: "web" }],
          rules: [{}],
        }),
      ],
      mesh: { extensionProviders: [{ name: "p", envoyExtAuthzGrpc: { service: hostOf("free"), port: 80 } }] },
    },
    "[outbound|80||free.shop.svc.cluster.local, inbound-vip|7070|http|cart.shop.svc.cluster.local, inbound-vip|80|http|web.shop.svc.cluster.local, inbound-vip|9000|tcp|web.shop.svc.cluster.local]",
  ],
  ["none while ambient is off", { env: { PILOT_ENABLE_AMBIENT: "false" } }, "[]"],
];

const webHttp = `inbound-vip|80|http|${hostOf("web")}`;
const webTcp = `inbound-vip|9000|tcp|${hostOf("web")}`;
const manager = "filters.0.typedConfig";
const route = `${manager}.routeConfig.virtualHosts.0.routes.0.route`;

const logged = (name: string, kind: "Service" | "Gateway", target: string, expression: string) =>
  anObject("Telemetry", `shop/${name}`, {
    targetRefs: [{ group: kind === "Service" ? "" : "gateway.networking.k8s.io", kind, name: target }],
    accessLogging: [{ providers: [{ name: "envoy" }], filter: { expression } }],
  });

const patchedRoutes = anObject("EnvoyFilter", "istio-system/routes", {
  targetRefs: [{ group: "gateway.networking.k8s.io", kind: "GatewayClass", name: "istio-waypoint" }],
  configPatches: [
    {
      applyTo: "ROUTE_CONFIGURATION",
      patch: { operation: "MERGE", value: { responseHeadersToAdd: [{ header: { key: "x", value: "y" } }] } },
    },
  ],
});

const namesCallers = { metadata: { ANNOTATIONS: { "ambient.istio.io/xfcc-include-client-identity": "True" } } };

const chainFields: readonly (readonly [name: string, given: WaypointGiven, chain: string, at: string, is: string])[] = [
  [
    "callers are named in a header where the Gateway asks for it",
    namesCallers,
    webHttp,
    `${manager}.httpFilters.0.typedConfig.mutations.requestMutations.0.append.header.value`,
    "By=%FILTER_STATE(io.istio.local_principal:PLAIN)%;URI=%FILTER_STATE(io.istio.peer_principal:PLAIN)%",
  ],
  [
    "that header is passed on without a certificate of the connection",
    namesCallers,
    webHttp,
    `${manager}.forwardClientCertDetails`,
    "ALWAYS_FORWARD_ONLY",
  ],
  [
    "a patch leaves routes of VirtualServices",
    { objects: [virtualService({ http: [{ route: [to("cart")] }] }), patchedRoutes] },
    webHttp,
    `${manager}.routeConfig.responseHeadersToAdd`,
    "none",
  ],
  [
    "a patch changes default routes",
    { objects: [patchedRoutes] },
    webHttp,
    `${manager}.routeConfig.responseHeadersToAdd.0.header.key`,
    "x",
  ],
  ["a request goes to the service", {}, webHttp, `${route}.cluster`, "inbound-vip|80|http|web.shop.svc.cluster.local"],
  [
    "connections go to the service",
    {},
    webTcp,
    "filters",
    "[{name: istio.metadata_exchange, typedConfig: {typeUrl: type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange, value: {enable_discovery: true, protocol: istio-peer-exchange}, TypedStruct}}, {name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: inbound-vip|9000|tcp|web.shop.svc.cluster.local, cluster: inbound-vip|9000|tcp|web.shop.svc.cluster.local, TcpProxy}}]",
  ],
  [
    "a service of gRPC is spoken to by HTTP/2",
    {},
    `inbound-vip|7070|http|${hostOf("cart")}`,
    `${manager}.http2ProtocolOptions`,
    "{}",
  ],
  ["one of HTTP/1.1 is not", {}, webHttp, `${manager}.http2ProtocolOptions`, "none"],
  [
    "filters of requests",
    {},
    webHttp,
    `${manager}.httpFilters`,
    "[{name: envoy.filters.http.grpc_stats, typedConfig: {emitFilterState: true, statsForAllMethods: false, FilterConfig}}, {name: envoy.filters.http.fault, typedConfig: {HTTPFault}}, {name: envoy.filters.http.cors, typedConfig: {Cors}}, {name: waypoint_upstream_peer_metadata, typedConfig: {typeUrl: type.googleapis.com/io.istio.http.peer_metadata.Config, value: {upstream_discovery: [{workload_discovery: {}}]}, TypedStruct}}, {name: envoy.filters.http.router, typedConfig: {Router}}]",
  ],
  [
    "filters of requests of an Envoy without Istio's",
    { isStock: true },
    webHttp,
    `${manager}.httpFilters`,
    "[{name: envoy.filters.http.grpc_stats, typedConfig: {emitFilterState: true, statsForAllMethods: false, FilterConfig}}, {name: envoy.filters.http.fault, typedConfig: {HTTPFault}}, {name: envoy.filters.http.cors, typedConfig: {Cors}}, {name: envoy.filters.http.router, typedConfig: {Router}}]",
  ],
  [
    "filters of connections of an Envoy without Istio's",
    { isStock: true },
    webTcp,
    "filters",
    "[{name: envoy.filters.network.tcp_proxy, typedConfig: {statPrefix: inbound-vip|9000|tcp|web.shop.svc.cluster.local, cluster: inbound-vip|9000|tcp|web.shop.svc.cluster.local, TcpProxy}}]",
  ],
  ["a name of the statistics", {}, webHttp, `${manager}.statPrefix`, "inbound_0.0.0.0_80;"],
  [
    "a rule's hash",
    { objects: [rule("web", { trafficPolicy: { loadBalancer: { consistentHash: { httpHeaderName: "x-user" } } } })] },
    webHttp,
    `${route}.hashPolicy`,
    "[{header: {headerName: x-user}}]",
  ],
  [
    "the mesh's retries",
    { mesh: { defaultHttpRetryPolicy: { attempts: 7 } } },
    webHttp,
    `${route}.retryPolicy.numRetries`,
    "7",
  ],
  [
    "a route to a port of a service behind it",
    { objects: [virtualService({ http: [{ route: [to("cart", { port: { number: 7070 } })] }] })] },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|7070|http|cart.shop.svc.cluster.local",
  ],
  [
    "a route to its only port",
    { objects: [virtualService({ http: [{ route: [to("cart")] }] })] },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|7070|http|cart.shop.svc.cluster.local",
  ],
  [
    "a route to a subset",
    {
      objects: [
        virtualService({ http: [{ route: [to("web", { subset: "v1" })] }] }),
        rule("web", { subsets: [{ name: "v1" }] }),
      ],
    },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|80|http/v1|web.shop.svc.cluster.local",
  ],
  [
    "a route to a port of connections",
    { objects: [virtualService({ http: [{ route: [to("web", { port: { number: 9000 } })] }] })] },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|9000|tcp|web.shop.svc.cluster.local",
  ],
  [
    "a route to an unknown host",
    { objects: [virtualService({ http: [{ route: [{ destination: { host: "no.example" } }] }] })] },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|80|http|no.example",
  ],
  [
    "a route for another port",
    { objects: [virtualService({ http: [{ match: [{ port: 81 }], route: [to("cart")] }] })] },
    webHttp,
    `${route}.cluster`,
    "inbound-vip|80|http|web.shop.svc.cluster.local",
  ],
  ["the domain of all hosts", {}, webHttp, `${manager}.routeConfig.virtualHosts.0.domains`, "[*]"],
  [
    "the domain of hosts below a wildcard",
    { objects: [entry("wild", { ...anyHost, ports: [{ number: 80, name: "http", protocol: "HTTP" }] })] },
    "inbound-vip|80|http|*.wild.example",
    `${manager}.routeConfig.virtualHosts.0.domains`,
    "[*.wild.example]",
  ],
  [
    "a resolver of hosts below a wildcard",
    { objects: [entry("wild", { ...anyHost, ports: [{ number: 80, name: "http", protocol: "HTTP" }] })] },
    "inbound-vip|80|http|*.wild.example",
    `${manager}.httpFilters.3`,
    "{name: envoy.filters.http.dynamic_forward_proxy, typedConfig: {dnsCacheConfig: {name: *.wild.example_dfp_dns_cache, dnsLookupFamily: V4_ONLY}, FilterConfig}}",
  ],
  [
    "a resolver of TLS below a wildcard, by its SNI",
    {
      objects: [entry("wild", { ...anyHost, ports: [{ number: 443, name: "tls", protocol: "TLS" }] })],
      env: { ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS: "true" },
    },
    "inbound-vip|443|tcp|*.wild.example",
    "filters.1.name",
    "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
  ],
  [
    "TCP to a route's cluster",
    { objects: [virtualService({ tcp: [{ route: [to("cart")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|7070|tcp|cart.shop.svc.cluster.local",
  ],
  [
    "TCP to the same port of a service with several",
    { objects: [virtualService({ tcp: [{ route: [to("web", { subset: "v1" })] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|9000|tcp/v1|web.shop.svc.cluster.local",
  ],
  [
    "TCP to a service elsewhere",
    { objects: [virtualService({ tcp: [{ route: [to("free")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "outbound|80||free.shop.svc.cluster.local",
  ],
  [
    "TCP by weight",
    {
      objects: [
        virtualService({
          tcp: [
            {
              route: [
                { ...to("web"), weight: 80 },
                { ...to("cart"), weight: 20 },
                { ...to("free"), weight: 0 },
              ],
            },
          ],
        }),
      ],
    },
    webTcp,
    "filters.1.typedConfig.weightedClusters",
    "{clusters: [{name: inbound-vip|9000|tcp|web.shop.svc.cluster.local, weight: 80}, {name: inbound-vip|7070|tcp|cart.shop.svc.cluster.local, weight: 20}]}",
  ],
  [
    "TCP of the first match that is met",
    {
      objects: [
        virtualService({
          tcp: [
            { match: [{ port: 81 }], route: [to("free")] },
            { match: [{ port: 9000, gateways: ["mesh"] }], route: [to("cart")] },
          ],
        }),
      ],
    },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|7070|tcp|cart.shop.svc.cluster.local",
  ],
  [
    "TCP of a gateway's match",
    { objects: [virtualService({ tcp: [{ match: [{ gateways: ["shop/g"] }], route: [to("cart")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|9000|tcp|web.shop.svc.cluster.local",
  ],
  [
    "TCP of a caller's match",
    { objects: [virtualService({ tcp: [{ match: [{ sourceLabels: { app: "a" } }], route: [to("cart")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|9000|tcp|web.shop.svc.cluster.local",
  ],
  [
    "TCP of a caller's namespace",
    { objects: [virtualService({ tcp: [{ match: [{ sourceNamespace: "shop" }], route: [to("cart")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|9000|tcp|web.shop.svc.cluster.local",
  ],
  [
    "TCP whatever address a match names",
    { objects: [virtualService({ tcp: [{ match: [{ destinationSubnets: ["10.0.0.0/8"] }], route: [to("cart")] }] })] },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|7070|tcp|cart.shop.svc.cluster.local",
  ],
  [
    "TCP by a route for TLS to the service's own name before one for TCP",
    {
      objects: [
        virtualService({
          tls: [
            { match: [{ sniHosts: ["other.example"] }], route: [to("other")] },
            { match: [{ sniHosts: [hostOf("web")], port: 9000 }], route: [to("cart", { port: { number: 7070 } })] },
          ],
          tcp: [{ route: [to("web", { port: { number: 80 } })] }],
        }),
      ],
    },
    webTcp,
    "filters.1.typedConfig.cluster",
    "inbound-vip|7070|tcp|cart.shop.svc.cluster.local",
  ],
  [
    "the times of connections that the service's rule sets",
    { objects: [rule("web", { trafficPolicy: { connectionPool: { tcp: { idleTimeout: "7s" } } } })] },
    webTcp,
    "filters.1.typedConfig.idleTimeout",
    "7s",
  ],
  [
    "those of the service that a route leads to",
    {
      objects: [
        virtualService({ tcp: [{ route: [to("cart", { port: { number: 7070 } })] }] }),
        rule("cart", { trafficPolicy: { connectionPool: { tcp: { idleTimeout: "8s" } } } }),
      ],
    },
    webTcp,
    "filters.1.typedConfig.idleTimeout",
    "8s",
  ],
  [
    "the log of a service's own Telemetry",
    {
      objects: [
        anObject("Telemetry", "shop/t", {
          targetRefs: [{ group: "", kind: "Service", name: "web" }],
          accessLogging: [{ providers: [{ name: "envoy" }] }],
        }),
      ],
    },
    webHttp,
    `${manager}.accessLog.0.name`,
    "envoy.access_loggers.file",
  ],
  [
    "no log of another's",
    {
      objects: [
        anObject("Telemetry", "shop/t", {
          targetRefs: [{ group: "", kind: "Service", name: "cart" }],
          accessLogging: [{ providers: [{ name: "envoy" }] }],
        }),
      ],
    },
    webHttp,
    `${manager}.accessLog`,
    "none",
  ],
  [
    "the log of its service before that of its Gateway",
    {
      objects: [
        logged("a", "Service", "web", "response.code >= 500"),
        logged("b", "Gateway", "waypoint", "response.code >= 400"),
      ],
    },
    webHttp,
    `${manager}.accessLog.0.filter.extensionFilter.typedConfig.expression`,
    "response.code >= 500",
  ],
  [
    "the log of its Gateway for other services",
    {
      objects: [
        logged("a", "Service", "web", "response.code >= 500"),
        logged("b", "Gateway", "waypoint", "response.code >= 400"),
      ],
    },
    `inbound-vip|7070|http|${hostOf("cart")}`,
    `${manager}.accessLog.0.filter.extensionFilter.typedConfig.expression`,
    "response.code >= 400",
  ],
];

function aChain(given: WaypointGiven, chain: string) {
  const listener = resourceOf(aWaypointMesh(given), aWaypoint(given), typeUrl.listener, "main_internal");
  return ((listener?.["filterChains"] ?? []) as readonly JsonObject[]).find(({ name }) => name === chain);
}

describe("clusters of a waypoint", () => {
  for (const [name, given, is] of clusters)
    it(name, () => {
      const found = namesOf(aWaypointMesh(given), aWaypoint(given), typeUrl.cluster);
      assert.equal(inShort(found.filter((one) => one.includes("|"))), is);
    });
});

describe("chains within tunnels", () => {
  for (const [name, given, chain, at, is] of chainFields)
    it(name, () => assert.equal(inShort(fieldAt(aChain(given, chain), at)), is));
});
