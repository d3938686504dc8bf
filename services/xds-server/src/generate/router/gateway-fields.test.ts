/** Each setting of a Gateway's server, and of VirtualServices bound to it, in the listeners and routes of a gateway's proxy. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aRouter, namesOf, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly servers?: readonly JsonObject[];
  readonly routes?: JsonObject;
  readonly objects?: readonly KubeObject[];
  readonly mesh?: JsonObject;
}

const httpServer = { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] };
const secured = (tls: JsonObject, more: JsonObject = {}) => ({
  port: { number: 443, name: "https", protocol: "HTTPS" },
  hosts: ["a.example"],
  tls,
  ...more,
});
const ofTcp = (protocol: string, tls?: JsonObject, hosts: readonly string[] = ["*"]) => ({
  port: { number: 9000, name: "x", protocol },
  hosts: [...hosts],
  ...(tls && { tls }),
});

function meshOf({ servers = [httpServer], routes, objects = [], mesh = {} }: Given) {
  return aKubeMesh(
    [
      anEntry("a"),
      anObject("Gateway", "shop/gw", { selector: { app: "gateway" }, servers: [...servers] }),
      ...(routes === undefined
        ? []
        : [anObject("VirtualService", "shop/v", { hosts: ["a.example"], gateways: ["gw"], ...routes })]),
      ...objects,
    ],
    { mesh },
  );
}

const ruled = (policy: JsonObject, subset: JsonObject) =>
  anObject("DestinationRule", "shop/a", {
    host: "a.shop.example",
    trafficPolicy: policy,
    subsets: [{ name: "s", labels: { v: "1" }, trafficPolicy: subset }],
  });
const tunnel = (targetHost: string) => ({ tunnel: { protocol: "POST", targetHost, targetPort: 99 } });
const toSubset = { tcp: [{ route: [{ destination: { host: "a.shop.example", subset: "s" } }] }] };
const destination = { host: "a.shop.example" };
const http = [{ route: [{ destination }] }];
const tcp = [{ route: [{ destination }] }];

const listeners: readonly (readonly [name: string, given: Given, is: string])[] = [
  ["one for HTTP", { routes: { http } }, "[0.0.0.0_80]"],
  ["none for TCP without a route", { servers: [ofTcp("TCP")] }, "[]"],
  ["one for TCP with a route", { servers: [ofTcp("TCP")], routes: { tcp } }, "[0.0.0.0_9000]"],
  ["one for HTTPS", { servers: [secured({ mode: "SIMPLE", credentialName: "c" })], routes: { http } }, "[0.0.0.0_443]"],
  [
    "two servers of a port have one",
    { servers: [httpServer, { ...httpServer, hosts: ["b.example"] }], routes: { http } },
    "[0.0.0.0_80]",
  ],
  ["an address of its own", { servers: [{ ...httpServer, bind: "10.1.1.1" }], routes: { http } }, "[10.1.1.1_80]"],
  [
    "none for a Gateway of others",
    {
      servers: [httpServer],
      objects: [
        anObject("Gateway", "shop/other", {
          selector: { app: "x" },
          servers: [{ ...httpServer, port: { number: 81, name: "h", protocol: "HTTP" } }],
        }),
      ],
      routes: { http },
    },
    "[0.0.0.0_80]",
  ],
];

const on80 = ["listener", "0.0.0.0_80"] as const;
const on443 = ["listener", "0.0.0.0_443"] as const;
const on9000 = ["listener", "0.0.0.0_9000"] as const;
const manager = "filterChains.0.filters.0.typedConfig";
const context = "filterChains.0.transportSocket.typedConfig";
const withTls = (tls: JsonObject, more: JsonObject = {}): Given => ({
  servers: [secured(tls, more)],
  routes: { http },
});
const credential = { mode: "SIMPLE", credentialName: "c" };
const fields: readonly (readonly [
  name: string,
  given: Given,
  of: readonly ["listener" | "route", string],
  at: string,
  is: string,
])[] = [
  ["the routes of plain HTTP", { routes: { http } }, on80, `${manager}.rds.routeConfigName`, "http.80"],
  ["the routes of HTTPS", withTls(credential), on443, `${manager}.rds.routeConfigName`, "https.443.https.gw.shop"],
  ["the chain of HTTPS", withTls(credential), on443, "filterChains.0.filterChainMatch", "{serverNames: [a.example]}"],
  ["the chain of any host", withTls(credential, { hosts: ["*"] }), on443, "filterChains.0.filterChainMatch", "none"],
  [
    "a Secret",
    withTls(credential),
    on443,
    `${context}.commonTlsContext.tlsCertificateSdsSecretConfigs.0.name`,
    "kubernetes://c",
  ],
  [
    "several Secrets",
    withTls({ mode: "SIMPLE", credentialNames: ["c", "d"] }),
    on443,
    `${context}.commonTlsContext.tlsCertificateSdsSecretConfigs.1.name`,
    "kubernetes://d",
  ],
  ["statistics of the listener", withTls(credential), on443, `${manager}.statPrefix`, "outbound_0.0.0.0_443;"],
  ["statistics of a named server", withTls(credential, { name: "web" }), on443, `${manager}.statPrefix`, "web"],
  ["no client's certificate", withTls(credential), on443, `${context}.requireClientCertificate`, "false"],
  [
    "a client's certificate",
    withTls({ mode: "MUTUAL", credentialName: "c" }),
    on443,
    `${context}.requireClientCertificate`,
    "true",
  ],
  [
    "a client's root",
    withTls({ mode: "MUTUAL", credentialName: "c" }),
    on443,
    `${context}.commonTlsContext.combinedValidationContext.validationContextSdsSecretConfig.name`,
    "kubernetes://c-cacert",
  ],
  [
    "a client's names",
    withTls({ mode: "MUTUAL", credentialName: "c", subjectAltNames: ["x", "y"] }),
    on443,
    `${context}.commonTlsContext.combinedValidationContext.defaultValidationContext`,
    "{matchSubjectAltNames: [{exact: x}, {exact: y}]}",
  ],
  [
    "a certificate that clients may show",
    withTls({ mode: "OPTIONAL_MUTUAL", credentialName: "c" }),
    on443,
    `${context}.requireClientCertificate`,
    "false",
  ],
  [
    "the mesh's certificates",
    withTls({ mode: "ISTIO_MUTUAL" }),
    on443,
    `${context}.commonTlsContext.tlsCertificateSdsSecretConfigs.0.name`,
    "default",
  ],
  [
    "files",
    withTls({ mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" }),
    on443,
    `${context}.commonTlsContext.tlsCertificateSdsSecretConfigs.0.name`,
    "file-cert:/c~/k",
  ],
  [
    "versions of TLS",
    withTls({ ...credential, minProtocolVersion: "TLSV1_3", maxProtocolVersion: "TLSV1_3" }),
    on443,
    `${context}.commonTlsContext.tlsParams`,
    "{tlsMinimumProtocolVersion: TLSv1_3, tlsMaximumProtocolVersion: TLSv1_3}",
  ],
  ["nothing about TLS without a setting", withTls(credential), on443, `${context}.commonTlsContext.tlsParams`, "none"],
  [
    "ciphers",
    withTls({ ...credential, cipherSuites: ["ECDHE-RSA-AES256-GCM-SHA384", "unknown"] }),
    on443,
    `${context}.commonTlsContext.tlsParams`,
    "{cipherSuites: [ECDHE-RSA-AES256-GCM-SHA384]}",
  ],
  ["protocols within TLS", withTls(credential), on443, `${context}.commonTlsContext.alpnProtocols`, "[h2, http/1.1]"],
  [
    "a redirect to HTTPS",
    { servers: [{ ...httpServer, tls: { httpsRedirect: true } }], routes: { http } },
    ["route", "http.80"],
    "virtualHosts.0.requireTls",
    "ALL",
  ],
  ["no redirect", { routes: { http } }, ["route", "http.80"], "virtualHosts.0.requireTls", "none"],
  ["domains", { routes: { http } }, ["route", "http.80"], "virtualHosts.0.domains", "[a.example]"],
  [
    "where requests go",
    { routes: { http } },
    ["route", "http.80"],
    "virtualHosts.0.routes.0.route.cluster",
    "outbound|80||a.shop.example",
  ],
  ["no routes", {}, ["route", "http.80"], "virtualHosts.0", "{name: blackhole:80, domains: [*]}"],
  [
    "a host that the Gateway does not have",
    { servers: [{ ...httpServer, hosts: ["b.example"] }], routes: { http } },
    ["route", "http.80"],
    "virtualHosts.0.name",
    "blackhole:80",
  ],
  [
    "a host of another namespace",
    { servers: [{ ...httpServer, hosts: ["bank/*"] }], routes: { http } },
    ["route", "http.80"],
    "virtualHosts.0.name",
    "blackhole:80",
  ],
  [
    "a host of this namespace",
    { servers: [{ ...httpServer, hosts: ["./*"] }], routes: { http } },
    ["route", "http.80"],
    "virtualHosts.0.name",
    "a.example:80",
  ],
  [
    "TCP",
    { servers: [ofTcp("TCP")], routes: { tcp } },
    on9000,
    "filterChains.0.filters.0.typedConfig.cluster",
    "outbound|80||a.shop.example",
  ],
  [
    "TCP of another port",
    { servers: [ofTcp("TCP")], routes: { tcp: [{ match: [{ port: 1 }], route: [{ destination }] }] } },
    on9000,
    "filterChains.0.filters.0.typedConfig.cluster",
    "none",
  ],
  [
    "a tunnel of the rule",
    { servers: [ofTcp("TCP")], routes: { tcp }, objects: [ruled(tunnel("::1"), {})] },
    on9000,
    `${manager}.tunnelingConfig`,
    "{hostname: [::1]:99, usePost: true}",
  ],
  [
    "no tunnel of the rule for a subset",
    { servers: [ofTcp("TCP")], routes: toSubset, objects: [ruled(tunnel("t.example"), {})] },
    on9000,
    `${manager}.tunnelingConfig`,
    "none",
  ],
  [
    "a tunnel of the subset",
    { servers: [ofTcp("TCP")], routes: toSubset, objects: [ruled({}, tunnel("s.example"))] },
    on9000,
    `${manager}.tunnelingConfig`,
    "{hostname: s.example:99, usePost: true}",
  ],
  [
    "TCP within TLS",
    { servers: [ofTcp("TLS", credential, ["a.example"])], routes: { tcp } },
    on9000,
    "filterChains.0.filterChainMatch",
    "{serverNames: [a.example]}",
  ],
  [
    "TCP within TLS goes on",
    { servers: [ofTcp("TLS", credential, ["a.example"])], routes: { tcp } },
    on9000,
    "filterChains.0.filters.0.typedConfig.cluster",
    "outbound|80||a.shop.example",
  ],
  [
    "TLS that passes",
    {
      servers: [ofTcp("TLS", { mode: "PASSTHROUGH" }, ["a.example"])],
      routes: { tls: [{ match: [{ sniHosts: ["a.example"] }], route: [{ destination }] }] },
    },
    on9000,
    "filterChains.0.filterChainMatch",
    "{serverNames: [a.example]}",
  ],
  [
    "TLS that passes has no certificate",
    {
      servers: [ofTcp("TLS", { mode: "PASSTHROUGH" }, ["a.example"])],
      routes: { tls: [{ match: [{ sniHosts: ["a.example"] }], route: [{ destination }] }] },
    },
    on9000,
    "filterChains.0.transportSocket",
    "none",
  ],
  [
    "TLS that goes where its name says",
    { servers: [ofTcp("TLS", { mode: "AUTO_PASSTHROUGH" })] },
    on9000,
    "filterChains.0.filters.0.name",
    "envoy.filters.network.tcp_proxy",
  ],
  [
    "TLS that goes where its name says is in no tunnel",
    { servers: [ofTcp("TLS", { mode: "AUTO_PASSTHROUGH" })], objects: [ruled(tunnel("t.example"), {})] },
    on9000,
    `${manager}.tunnelingConfig`,
    "none",
  ],
  [
    "looking at TLS",
    withTls(credential),
    on443,
    "listenerFilters",
    "[{name: envoy.filters.listener.tls_inspector, typedConfig: {initialReadBufferSize: 512, TlsInspector}}]",
  ],
  ["not looking at plain HTTP", { routes: { http } }, on80, "listenerFilters", "none"],
  ["the caller's address", { routes: { http } }, on80, `${manager}.useRemoteAddress`, "true"],
  ["the caller's certificate", { routes: { http } }, on80, `${manager}.forwardClientCertDetails`, "SANITIZE_SET"],
  [
    "hops that are trusted",
    { routes: { http }, mesh: { defaultConfig: { gatewayTopology: { numTrustedProxies: 2 } } } },
    on80,
    `${manager}.xffNumTrustedHops`,
    "2",
  ],
  ["the server's name", { routes: { http } }, on80, `${manager}.serverName`, "istio-envoy"],
  ["upgrades", { routes: { http } }, on80, `${manager}.upgradeConfigs`, "[{upgradeType: websocket}]"],
];

describe("listeners of a gateway", () => {
  for (const [name, given, is] of listeners)
    it(name, () => assert.equal(inShort([...namesOf(meshOf(given), aRouter("shop"), typeUrl.listener)]), is));
});

describe("fields", () => {
  for (const [name, given, [type, of], at, is] of fields)
    it(name, () =>
      assert.equal(inShort(fieldAt(resourceOf(meshOf(given), aRouter("shop"), typeUrl[type], of), at)), is),
    );
});
