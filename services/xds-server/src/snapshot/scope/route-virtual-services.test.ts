import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import type { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, apply, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

const parent = (name: string, more: JsonObject = {}): JsonObject => ({ group: "", kind: "Service", name, ...more });
const to = (name: string, more: JsonObject = {}): JsonObject => ({ backendRefs: [{ name, port: 80, ...more }] });

function aRoute(kind: string, namespace: string, name: string, parents: readonly JsonObject[], ...rules: JsonObject[]) {
  return aConfig(kind, namespace, name, { parentRefs: [...parents], rules });
}

interface Named {
  readonly name?: string;
  readonly route?: { readonly cluster?: string };
  readonly directResponse?: { readonly status: number };
}

/** `virtual host: route → cluster, …` of those that have routes of their own. */
function routed(core: Core, namespace: string, name = "80"): readonly string[] {
  const found = resourceOf(core, aSidecar(namespace), typeUrl.route, name)?.["virtualHosts"] ?? [];
  return (found as unknown as readonly { readonly name: string; readonly routes: readonly Named[] }[]).flatMap(
    ({ name: host, routes }) => {
      const own = routes.filter((route) => route.name !== "default" && route.name !== "allow_any");
      const texts = own.map((one) => `${one.name} → ${one.route?.cluster ?? one.directResponse?.status}`);
      return texts.length === 0 ? [] : [`${host}: ${texts.join(", ")}`];
    },
  );
}

const services: readonly (Service | Config)[] = [
  aService("web", "shop"),
  aService("v2", "shop"),
  aService("c", "cons"),
];
const v2 = "outbound|80||v2.shop.svc.cluster.local";
const web = "web.shop.svc.cluster.local:80";

test("a producer's route is everybody's, a consumer's only its own namespace's, for which it comes first", () => {
  const core = aMesh(
    ...services,
    aRoute("HTTPRoute", "shop", "producer@1", [parent("web")], to("v2")),
    aRoute("HTTPRoute", "cons", "consumer@2", [parent("web", { namespace: "shop" })], to("c")),
  );
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.producer.0 → ${v2}`]);
  assert.deepEqual(routed(core, "other"), [`${web}: shop.producer.0 → ${v2}`]);
  assert.deepEqual(routed(core, "cons"), [`${web}: cons.consumer.0 → outbound|80||c.cons.svc.cluster.local`]);
});

test("routes of a host and port are one, the older's rules before equal ones of the younger", () => {
  const core = aMesh(
    ...services,
    aRoute("HTTPRoute", "shop", "young@2", [parent("web")], to("v2"), {
      ...to("v2"),
      matches: [{ path: { type: "PathPrefix", value: "/y" } }],
    }),
    aRoute("GRPCRoute", "shop", "old@1", [parent("web")], { ...to("v2"), matches: [{ method: { service: "e.E" } }] }),
  );
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.old.0 → ${v2}, shop.young.1 → ${v2}, shop.young.0 → ${v2}`]);
});

test("a parent's port narrows the route; routes of the own namespace come before older VirtualServices", () => {
  const ports = [aPort("http", 80, "HTTP"), aPort("http-b", 8080, "HTTP")];
  const core = aMesh(
    aService("web", "shop", { ports }),
    aService("v2", "shop"),
    aRoute("HTTPRoute", "shop", "r@2", [parent("web", { port: 80 })], to("v2")),
    aConfig("VirtualService", "shop", "vs@1", {
      hosts: ["web"],
      http: [{ name: "vs", route: [{ destination: { host: "v1.example" } }] }],
    }),
  );
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.r.0 → ${v2}`]);
  assert.deepEqual(routed(core, "other"), [`${web}: vs → outbound|80||v1.example`]);
  assert.deepEqual(routed(core, "shop", "8080"), ["web.shop.svc.cluster.local:8080: vs → outbound|8080||v1.example"]);
});

test("only hosts of services are routed; a ServiceEntry as parent means its hosts", () => {
  const entry = {
    hosts: ["a.example", "*.b.example"],
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
  };
  const ref = { group: "networking.istio.io", kind: "ServiceEntry", name: "ext" };
  const external = { registry: "External", name: "ext", definedBy: "ServiceEntry/shop/ext" } as const;
  const core = aMesh(
    aService("v2", "shop"),
    aService("a", "shop", { ...external, hostname: "a.example" }),
    aService("b", "shop", { ...external, hostname: "*.b.example" }),
    aConfig("ServiceEntry", "shop", "ext", entry),
    aRoute("HTTPRoute", "shop", "r", [ref, parent("nobody")], to("v2")),
  );
  assert.deepEqual(routed(core, "shop"), [`a.example:80: shop.r.0 → ${v2}`]);
});

test("a route that cannot be followed is reported, and nothing else is lost", () => {
  const core = aMesh(
    ...services,
    aRoute("HTTPRoute", "shop", "portless", [parent("web")], to("v2"), { backendRefs: [{ name: "v2" }] }),
    aRoute("HTTPRoute", "shop", "late", [parent("web")], { ...to("v2"), timeouts: { request: "soon" } }),
    aRoute("HTTPRoute", "shop", "extended", [parent("web")], { ...to("v2"), filters: [{ type: "ExtensionRef" }] }),
    aRoute("HTTPRoute", "shop", "same", [parent("v2")], to("nobody")),
    aRoute("GRPCRoute", "shop", "same", [parent("web")], to("v2")),
  );
  const observed = core.observe(core.subjectOf(aSidecar("shop")), typeUrl.route, nameSet(["80"]), () => undefined);
  assert.deepEqual(routed(core, "shop"), [
    "v2.shop.svc.cluster.local:80: shop.same.0 → outbound|80||nobody.shop.svc.cluster.local",
  ]);
  assert.deepEqual(
    core
      .findings()
      .map(({ object, message }) => `${object}: ${message}`)
      .sort(),
    [
      "GRPCRoute/shop/same: not followed for web.shop.svc.cluster.local: there is an HTTPRoute of the same name",
      'HTTPRoute/shop/extended: not followed: unsupported filter type "ExtensionRef"',
      'HTTPRoute/shop/late: not followed: "soon" is not a duration',
      "HTTPRoute/shop/portless: not followed: port is required in backendRef",
      "HTTPRoute/shop/same: routes lead nowhere: there is no host nobody.shop.svc.cluster.local",
    ],
  );
  observed?.release();
});

test("a route of another form is refused and leaves its last good version", () => {
  const core = aMesh(...services, aRoute("HTTPRoute", "shop", "r", [parent("web")], { ...to("v2"), filters: null }));
  const wrong = [
    { parentRefs: [parent("web")], rules: "all" },
    { parentRefs: [parent("web")], rules: [{ matches: [{ headers: [{ name: "a", value: 5 }] }] }] },
    { parentRefs: "web" },
  ];
  for (const spec of wrong) assert.throws(() => apply(core, aConfig("HTTPRoute", "shop", "r", spec as JsonObject)));
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.r.0 → ${v2}`]);
});

test("a route that comes, changes and goes changes what proxies get", () => {
  const core = aMesh(...services);
  const route = aRoute("HTTPRoute", "shop", "r", [parent("web")], to("v2"));
  apply(core, route);
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.r.0 → ${v2}`]);
  apply(core, aRoute("HTTPRoute", "shop", "r", [parent("web")], to("v2", { weight: 0 })));
  assert.deepEqual(routed(core, "shop"), [`${web}: shop.r.0 → 500`]);
  core.apply([{ type: "config", op: "delete", key: route.key }]);
  assert.deepEqual(routed(core, "shop"), []);
});

test("TCPRoutes and TLSRoutes lead connections, those of consumers everybody's", () => {
  const ports = [aPort("tcp", 7000, "TCP"), aPort("tls", 8443, "TLS")];
  const aLayer4 = (name: string, address: string) => aService(name, "shop", { ports, defaultAddress: address });
  const core = aMesh(
    aLayer4("db", "10.0.1.1"),
    aLayer4("db2", "10.0.1.2"),
    aRoute("TCPRoute", "cons", "t", [parent("db", { namespace: "shop", port: 7000 })], {
      backendRefs: [{ name: "db2", namespace: "shop", port: 7000 }],
    }),
    aRoute("TLSRoute", "shop", "s", [parent("db")], { backendRefs: [{ name: "db2", port: 8443, weight: 0 }] }),
  );
  const listener = (name: string) => JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, name));
  assert.match(listener("10.0.1.1_7000"), /"cluster":"outbound\|7000\|\|db2.shop.svc.cluster.local"/);
  assert.match(listener("10.0.1.1_8443"), /"serverNames":\["db.shop.svc.cluster.local"\]/);
  assert.match(listener("10.0.1.1_8443"), /"cluster":"outbound\|65535\|zero-weight\|internal.cluster.local"/);
});

test("backends of an unknown kind and TLS matches for any name are what Envoy takes", () => {
  const ports = [aPort("tcp", 7000, "TCP"), aPort("tls", 8443, "TLS")];
  const toDb = [{ destination: { host: "db", port: { number: 8443 } } }];
  const core = aMesh(
    aService("db", "shop", { ports, defaultAddress: "10.0.1.1" }),
    aRoute("TCPRoute", "shop", "t", [parent("db")], {
      backendRefs: [{ group: "x.example", kind: "Bucket", name: "b" }],
    }),
    aConfig("VirtualService", "shop", "any", { hosts: ["db"], tls: [{ match: [{ sniHosts: ["*"] }], route: toDb }] }),
  );
  const listener = (name: string) => JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, name));
  assert.match(listener("10.0.1.1_7000"), /"cluster":"UnknownService"/);
  assert.match(listener("10.0.1.1_8443"), /tls_inspector/);
  assert.doesNotMatch(listener("10.0.1.1_8443"), /serverNames/);
});
