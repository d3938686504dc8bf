/**
 * A proxy's resources that are kept follow each change of an object: after it they are those of a server that starts with the changed
 * objects. An object that arrives again unchanged alters none of them. One case for each kind that another answer of the snapshot rests on.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change, Config, Proxy, Service } from "@flotilla/model";
import { type JsonObject, type TypeUrl, typeUrl } from "@flotilla/proto";
import { type NameSet, nameSet } from "@flotilla/xds";
import { Core } from "../app/core.ts";
import { aConfig, anEndpoint, aPort, apply, aRouter, aService, aSidecar, put } from "../testing/mesh.ts";
import { aWaypoint, hostOf } from "../testing/waypoint.ts";
import { parseFeatures } from "./features.ts";

const features = parseFeatures({ PILOT_ENABLE_AMBIENT: "true", ENABLE_MCS_HOST: "false" });
const pem = (label: string, body: string) => btoa(`-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`);
const keyPair = (body: string) => ({
  data: { "tls.crt": pem("CERTIFICATE", body), "tls.key": pem("PRIVATE KEY", body) },
});
const meshConfig = (spec: JsonObject) => aConfig("MeshConfig", "istio-system", "istio", spec);
const gatewayApi = (kind: string, name: string, spec: JsonObject) => aConfig(kind, "shop", name, spec);
const edgeListeners = (hostname: string, more: JsonObject = {}): JsonObject => ({
  gatewayClassName: "istio",
  listeners: [
    {
      ...{ name: "https", port: 443, protocol: "HTTPS", hostname, allowedRoutes: { namespaces: { from: "All" } } },
      tls: { certificateRefs: [{ name: "pair" }] },
    },
  ],
  ...more,
});
const route = (to: string): JsonObject => ({
  parentRefs: [{ name: "edge" }],
  hostnames: ["a.example"],
  rules: [{ backendRefs: [{ name: to, port: 80 }] }],
});
const ingressOf = (path: string): JsonObject => ({
  ingressClassName: "istio",
  rules: [{ host: "i.example", http: { paths: [{ path, pathType: "Prefix", backend: webBackend }] } }],
});
const webBackend = { service: { name: "web", port: { number: 80 } } };
const lua = (inlineCode: string, more: JsonObject = {}): JsonObject => ({ lua: { inlineCode }, ...more });
const wasm = (url: string, more: JsonObject = {}): JsonObject => ({ url, ...more });
const backendTls = (hostname: string): JsonObject => ({
  targetRefs: [{ group: "", kind: "Service", name: "web" }],
  validation: { hostname, wellKnownCACertificates: "System" },
});
const selectsNone = { selector: { matchLabels: { app: "another" } } };
const gatewayOf = (...hosts: readonly string[]): JsonObject => ({
  selector: { app: "gateway" },
  servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: [...hosts] }],
});
const filterOf = (value: string): JsonObject => ({
  configPatches: [
    { applyTo: "CLUSTER", match: { context: "ANY" }, patch: { operation: "MERGE", value: { alt_stat_name: value } } },
  ],
});
const jwt = (issuer: string): JsonObject => ({ jwtRules: [{ issuer, jwks: "{}" }] });

type Value = Service | Config;

const web = aService("web", "shop", { labels: { "istio.io/use-waypoint": "waypoint" }, defaultAddress: "10.96.0.1" });
const base: readonly Value[] = [
  web,
  aService("db", "shop", { ports: [aPort("tcp", 9000, "TCP")], defaultAddress: "10.96.0.2" }),
  aService("edge-istio", "shop", {
    ports: [aPort("https", 443, "HTTPS")],
    labelSelectors: { app: "gateway" },
  }),
  aService("istio-ingressgateway", "istio-system"),
  aConfig("Secret", "shop", "pair", keyPair("AAAA")),
  aConfig("Namespace", "", "shop", {}),
  aConfig("IngressClass", "", "istio", { controller: "istio.io/ingress-controller" }),
  gatewayApi("KubernetesGateway", "waypoint", {
    gatewayClassName: "istio-waypoint",
    listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }],
  }),
  gatewayApi("KubernetesGateway", "edge", edgeListeners("a.example")),
  aConfig("Gateway", "shop", "own", gatewayOf("b.example", "c.example")),
  aConfig("VirtualService", "shop", "v", {
    ...{ hosts: ["*"], gateways: ["own"], http: [{ route: [{ destination: { host: "web" } }] }] },
  }),
  meshConfig({ ingressControllerMode: "STRICT" }),
];

/** Objects that are there before a change, and as they are after it; `undefined` removes one. */
interface Case {
  readonly name: string;
  readonly before: readonly Value[];
  readonly after: readonly Value[];
}

const changed = (kind: string, name: string, before: JsonObject, after: JsonObject): Case => ({
  name: kind,
  before: [aConfig(kind, "shop", name, before)],
  after: [aConfig(kind, "shop", name, after)],
});
const cases: readonly Case[] = [
  changed("TrafficExtension", "l", lua("-- one"), lua("-- two")),
  changed("WasmPlugin", "w", wasm("https://a.example/w"), wasm("https://b.example/w")),
  changed("HTTPRoute", "r", route("web"), route("db")),
  changed("Ingress", "i", ingressOf("/a"), ingressOf("/b")),
  changed("BackendTLSPolicy", "p", backendTls("a.corp"), backendTls("b.corp")),
  changed("EnvoyFilter", "f", filterOf("one"), filterOf("two")),
  changed("RequestAuthentication", "j", jwt("a"), jwt("b")),
  changed("Gateway", "own", gatewayOf("b.example"), gatewayOf("c.example", "d.example")),
  changed("PeerAuthentication", "m", { mtls: { mode: "STRICT" } }, { mtls: { mode: "DISABLE" } }),
  changed(
    "PeerAuthentication",
    "ports",
    { selector: { matchLabels: { app: "web" } }, portLevelMtls: { 80: { mode: "STRICT" } } },
    { selector: { matchLabels: { app: "web" } }, portLevelMtls: { 80: { mode: "DISABLE" } } },
  ),
  changed("KubernetesGateway", "edge", edgeListeners("a.example"), edgeListeners("b.example")),
  {
    name: "the mode of Ingresses",
    before: [
      aConfig("Ingress", "shop", "i", { ...ingressOf("/a"), ingressClassName: "none" }),
      meshConfig({ ingressControllerMode: "DEFAULT" }),
    ],
    after: [meshConfig({ ingressControllerMode: "STRICT" })],
  },
  {
    name: "the Secret of a listener that comes",
    before: [aConfig("Secret", "shop", "pair", { data: {} })],
    after: [aConfig("Secret", "shop", "pair", keyPair("BBBB"))],
  },
  {
    name: "the certificate that a Gateway shows to back ends",
    before: [gatewayApi("BackendTLSPolicy", "p", backendTls("a.corp")), gatewayApi("HTTPRoute", "r", route("web"))],
    after: [
      gatewayApi(
        "KubernetesGateway",
        "edge",
        edgeListeners("a.example", { tls: { backend: { clientCertificateRef: { name: "pair" } } } }),
      ),
    ],
  },
  ...(
    [
      ["access logs", { accessLogFile: "/dev/stdout" }, { accessLogFile: "/dev/stderr" }],
      [
        "cipher suites",
        { meshMTLS: { minProtocolVersion: "TLSV1_2" } },
        { meshMTLS: { minProtocolVersion: "TLSV1_3" } },
      ],
    ] as const
  ).map(([name, before, after]) => ({ name, before: [meshConfig(before)], after: [meshConfig(after)] })),
];

const named: ReadonlyMap<TypeUrl, NameSet> = new Map([
  [
    typeUrl.route,
    nameSet([
      "80",
      "http.80",
      "https.443.default.edge~istio-autogenerated-k8s-gateway~https.shop",
      "inbound-vip|80|http|web.shop.svc.cluster.local",
    ]),
  ],
  [typeUrl.endpoint, nameSet(["outbound|80||web.shop.svc.cluster.local", "outbound|9000||db.shop.svc.cluster.local"])],
  [
    typeUrl.extensionConfig,
    nameSet([
      "extensions.istio.io/trafficextension/shop.l",
      "extensions.istio.io/trafficextension/shop.w~istio-translated-wasmplugin",
    ]),
  ],
]);
const types = [typeUrl.cluster, typeUrl.listener, ...named.keys()];
const proxies: Readonly<Record<string, Proxy>> = {
  sidecar: aSidecar("shop"),
  router: aRouter("shop"),
  ingress: aRouter("istio-system", { LABELS: { istio: "ingressgateway" } }, "10.0.0.8"),
  waypoint: aWaypoint({}),
};

function observed(core: Core) {
  return Object.values(proxies).flatMap((proxy) =>
    types.map((type) => core.observe(core.subjectOf(proxy), type, named.get(type), () => undefined)),
  );
}

function setsOf(core: Core) {
  return Object.values(proxies).flatMap((proxy) =>
    types.map((type) => core.resources(core.subjectOf(proxy), type, named.get(type))),
  );
}

function versionsOf(core: Core): Readonly<Record<string, string>> {
  const found = setsOf(core).flatMap((set, index) =>
    [...(set?.byName.values() ?? [])].map(
      ({ name, version }) => [`${index} ${set?.typeUrl} ${name}`, version] as const,
    ),
  );
  return Object.fromEntries(found);
}

/** The proxies' own services have their addresses. */
const endpoints = Object.entries({ web: "10.0.0.1", "edge-istio": "10.0.0.9" }).map(([name, address]): Change => {
  const key = { shard: "Kubernetes/Kubernetes", namespace: "shop", hostname: hostOf(name), name };
  return { type: "endpoints", op: "put", key, value: [anEndpoint(address)] };
});

function aCore(...values: readonly Value[]): Core {
  const core = new Core({ features });
  assert.deepEqual(core.apply([...put(...values), ...endpoints]), []);
  return core;
}

describe("what is kept for proxies follows", () => {
  for (const { name, before, after } of cases)
    it(name, () => {
      const core = aCore(...base, ...before);
      const kept = observed(core);
      const old = versionsOf(core);
      apply(core, ...after);
      const now = versionsOf(core);
      assert.notDeepEqual(now, old, "the change alters nothing");
      assert.deepEqual(now, versionsOf(aCore(...base, ...before, ...after)));
      const sets = setsOf(core);
      assert.deepEqual(core.apply(put(...after.map((value) => structuredClone(value)))), []);
      assert.ok(
        setsOf(core).every((set, index) => set === sets[index]),
        "the same objects again",
      );
      for (const one of kept) one?.release();
    });
});

describe("what is kept for proxies stays", () => {
  const unrelated: readonly (readonly [string, readonly Value[], readonly Value[]])[] = [
    [
      "with an extension that selects no one",
      [
        aConfig("TrafficExtension", "shop", "l", lua("-- one")),
        aConfig("WasmPlugin", "shop", "w", wasm("https://a.example/w")),
      ],
      [aConfig("TrafficExtension", "shop", "other", lua("-- other", selectsNone))],
    ],
    [
      "with a policy of TLS for a Service that does not exist",
      [aConfig("BackendTLSPolicy", "shop", "p", backendTls("a.corp"))],
      [
        aConfig("BackendTLSPolicy", "shop", "other", {
          ...backendTls("b.corp"),
          targetRefs: [{ group: "", kind: "Service", name: "lost" }],
        }),
      ],
    ],
    [
      "with an Ingress of another class",
      [],
      [aConfig("Ingress", "shop", "other", { ...ingressOf("/"), ingressClassName: "nginx" })],
    ],
    [
      "with a Gateway of another class",
      [],
      [gatewayApi("KubernetesGateway", "other", { ...edgeListeners("o.example"), gatewayClassName: "nginx" })],
    ],
    [
      "with the right to a Secret that nothing refers to",
      [],
      [aConfig("ReferenceGrant", "shop", "g", { from: [], to: [] })],
    ],
  ];
  for (const [name, before, after] of unrelated)
    it(name, () => {
      const core = aCore(...base, ...before);
      const kept = observed(core);
      const sets = setsOf(core);
      apply(core, ...after);
      const labels = Object.keys(proxies).flatMap((proxy) => types.map((type) => `${proxy} ${type}`));
      assert.deepEqual(
        setsOf(core).flatMap((set, index) => (set === sets[index] ? [] : [labels[index]])),
        [],
      );
      for (const one of kept) one?.release();
    });
});
