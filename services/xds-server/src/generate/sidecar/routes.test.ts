import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, apply, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

interface VirtualHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly { readonly route?: { readonly cluster?: string }; readonly name?: string }[];
}

function virtualHosts(values: readonly (Service | Config)[], name = "80", namespace = "shop"): readonly VirtualHost[] {
  return hostsIn(resourceOf(aMesh(...values), aSidecar(namespace), typeUrl.route, name));
}

function hostsIn(configuration: JsonObject | undefined): readonly VirtualHost[] {
  return (configuration?.["virtualHosts"] ?? []) as unknown as readonly VirtualHost[];
}

/** `virtual host → cluster of its first route` */
function summary(hosts: readonly VirtualHost[]): readonly string[] {
  return hosts.map(({ name, routes: [first] }) => `${name} → ${first?.route?.cluster ?? first?.name}`);
}

const toV1 = (hosts: readonly string[], more: JsonObject = {}): JsonObject => ({
  hosts: [...hosts],
  http: [{ route: [{ destination: { host: "v1.example" } }] }],
  ...more,
});

test("every service of the port has a virtual host, and other hosts pass through", () => {
  const hosts = virtualHosts([
    aService("b", "shop"),
    aService("a", "shop"),
    aService("tcp", "shop", { ports: [aPort("tcp", 80, "TCP")] }),
    aService("other", "shop", { ports: [aPort("http", 8080, "HTTP")] }),
  ]);
  assert.deepEqual(summary(hosts), [
    "a.shop.svc.cluster.local:80 → outbound|80||a.shop.svc.cluster.local",
    "b.shop.svc.cluster.local:80 → outbound|80||b.shop.svc.cluster.local",
    "allow_any → PassthroughCluster",
  ]);
});

test("of two VirtualServices for one host the older has it, and the other is reported, as are unknown hosts", () => {
  const core = aMesh(
    aService("a", "shop"),
    aConfig(
      "VirtualService",
      "shop",
      "newer@2",
      toV1(["a"], { http: [{ route: [{ destination: { host: "v2.example" } }] }] }),
    ),
    aConfig("VirtualService", "shop", "older@1", toV1(["a"])),
  );
  const subject = core.subjectOf(aSidecar("shop"));
  const observed = core.observe(subject, typeUrl.route, nameSet(["80"]), () => undefined);
  assert.equal(
    summary(hostsIn(resourceOf(core, aSidecar("shop"), typeUrl.route, "80")))[0],
    "a.shop.svc.cluster.local:80 → outbound|80||v1.example",
  );
  assert.deepEqual(
    core.findings().map(({ metric, object }) => `${metric} ${object}`),
    ["pilot_vservice_dup_domain VirtualService/shop/newer", "flotilla_unknown_destination VirtualService/shop/older"],
  );
  observed?.release();
});

test("a host without a service is routed on port 80 alone", () => {
  const values = [
    aService("a", "shop", { ports: [aPort("http", 80, "HTTP"), aPort("http-2", 8080, "HTTP")] }),
    aConfig("VirtualService", "shop", "vs", toV1(["nowhere.example"])),
  ];
  assert.ok(summary(virtualHosts(values)).includes("nowhere.example:80 → outbound|80||v1.example"));
  assert.deepEqual(summary(virtualHosts(values, "8080")), [
    "a.shop.svc.cluster.local:8080 → outbound|8080||a.shop.svc.cluster.local",
    "allow_any → PassthroughCluster",
  ]);
});

test("the most specific wildcard has a service, whichever is older", () => {
  const hosts = virtualHosts([
    aService("a", "shop"),
    aConfig(
      "VirtualService",
      "shop",
      "wide@1",
      toV1(["*.cluster.local"], { http: [{ route: [{ destination: { host: "wide.example" } }] }] }),
    ),
    aConfig("VirtualService", "shop", "narrow@2", toV1(["*.shop.svc.cluster.local"])),
  ]);
  assert.equal(
    summary(hosts).find((line) => line.startsWith("a.")),
    "a.shop.svc.cluster.local:80 → outbound|80||v1.example",
  );
});

test("a VirtualService whose matches all mean others leaves the service its own route", () => {
  const http: JsonObject[] = [
    { match: [{ sourceLabels: { app: "other" } }], route: [{ destination: { host: "v1.example" } }] },
  ];
  const hosts = virtualHosts([aService("a", "shop"), aConfig("VirtualService", "shop", "vs", { hosts: ["a"], http })]);
  assert.equal(summary(hosts)[0], "a.shop.svc.cluster.local:80 → outbound|80||a.shop.svc.cluster.local");
});

for (const { gateways, destination } of [
  { gateways: ["mesh"], destination: "v1.example" },
  { gateways: ["mesh", "shop/edge"], destination: "v1.example" },
  { gateways: ["shop/edge"], destination: "a.shop.svc.cluster.local" },
])
  test(`a match for gateways ${gateways.join(", ")} is judged by these, not by labels or namespace`, () => {
    const match = [{ gateways, sourceLabels: { app: "other" }, sourceNamespace: "depot" }];
    const spec = { hosts: ["a"], gateways, http: [{ match, route: [{ destination: { host: "v1.example" } }] }] };
    const hosts = virtualHosts([aService("a", "shop"), aConfig("VirtualService", "shop", "vs", spec)]);
    assert.equal(summary(hosts)[0], `a.shop.svc.cluster.local:80 → outbound|80||${destination}`);
  });

test("a shared address goes to the first service only: Envoy refuses a domain that occurs twice", () => {
  const address = { clusterVips: { Kubernetes: ["10.1.0.1"] } };
  const hosts = virtualHosts([aService("a", "shop", address), aService("b", "shop", address)]);
  const domains = hosts.flatMap(({ domains }) => domains);
  assert.equal(new Set(domains).size, domains.length);
  assert.ok(hosts[0]?.domains.includes("10.1.0.1"));
});

test("a sniffed port has one virtual host that takes everything", () => {
  const values = [aService("a", "shop", { ports: [aPort("auto", 9000, "")] })];
  const [host, ...others] = virtualHosts(values, "a.shop.svc.cluster.local:9000");
  assert.deepEqual(host?.domains, ["*"]);
  assert.deepEqual(others, []);
});

test("a Sidecar narrows what there is, and REGISTRY_ONLY blocks the rest", () => {
  const spec: JsonObject = { egress: [{ hosts: ["shop/*"] }], outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } };
  const hosts = virtualHosts([
    aService("a", "shop"),
    aService("b", "depot"),
    aConfig("Sidecar", "shop", "default", spec),
  ]);
  assert.deepEqual(summary(hosts), [
    "a.shop.svc.cluster.local:80 → outbound|80||a.shop.svc.cluster.local",
    "block_all → block_all",
  ]);
});

test("an edit of one VirtualService builds one virtual host, for all namespaces that see it alike", () => {
  const services = Array.from({ length: 200 }, (_, i) => aService(`s${i}`, "shop"));
  const core = aMesh(...services, aConfig("VirtualService", "shop", "vs", toV1(["s7"])));
  const observed = ["a", "b", "c"].map((namespace) =>
    core.observe(core.subjectOf(aSidecar(namespace)), typeUrl.route, nameSet(["80"]), () => undefined),
  );
  const before = core.stats().computations;
  apply(
    core,
    aConfig(
      "VirtualService",
      "shop",
      "vs",
      toV1(["s7"], { http: [{ route: [{ destination: { host: "v2.example" } }] }] }),
    ),
  );
  for (const namespace of ["a", "b", "c"]) {
    const hosts = hostsIn(resourceOf(core, aSidecar(namespace), typeUrl.route, "80"));
    assert.ok(summary(hosts).includes("s7.shop.svc.cluster.local:80 → outbound|80||v2.example"));
  }
  const computed = core.stats().computations - before;
  assert.ok(computed < 40, `${computed} computations for one edit`);
  for (const one of observed) one?.release();
});

test("requests for unknown hosts name the host that was asked for where ProxyConfig wants it", () => {
  const proxyConfig = { proxyHeaders: { xForwardedHost: { enabled: true } } };
  const proxy = aSidecar("shop", { PROXY_CONFIG: proxyConfig });
  const configuration = JSON.stringify(resourceOf(aMesh(aService("a", "shop")), proxy, typeUrl.route, "80"));
  assert.deepEqual(configuration.match(/"appendXForwardedHost":true/g)?.length, 1);
  assert.match(configuration, /"cluster":"PassthroughCluster"[^}]*"appendXForwardedHost":true/);
});

const routeTo = (...hosts: readonly string[]): JsonObject => ({
  hosts: ["a"],
  http: [{ route: hosts.map((host, i) => ({ destination: { host }, weight: i + 1 })) }],
});

test("an ExternalName stands for its host only where a listener of the proxy imports it", () => {
  const traits = { type: "ExternalName", nodeLocal: false, publishNotReadyAddresses: false, headless: false };
  const kubernetes = { ...traits, externalName: "real.example", targetPorts: {} } as const;
  const alias = { resolution: "alias", kubernetes } as const;
  const values = [
    aService("a", "shop"),
    aService("alias", "depot", alias),
    aConfig("VirtualService", "shop", "vs", routeTo("alias.depot.svc.cluster.local")),
  ];
  const firstOf = (more: readonly Config[]) => summary(virtualHosts([...values, ...more]))[0];
  assert.equal(firstOf([]), "a.shop.svc.cluster.local:80 → outbound|80||real.example");
  const narrow = aConfig("Sidecar", "shop", "default", { egress: [{ hosts: ["shop/*"] }] });
  assert.equal(firstOf([narrow]), "a.shop.svc.cluster.local:80 → outbound|80||alias.depot.svc.cluster.local");
});

test("a VirtualService speaks for a host with capital letters", () => {
  const entry = aService("api", "shop", { hostname: "API.Example.com", registry: "External" });
  const rule = aConfig("VirtualService", "shop", "vs", {
    ...routeTo("a.shop.svc.cluster.local"),
    hosts: ["Api.example.com"],
  });
  const hosts = summary(virtualHosts([aService("a", "shop"), entry, rule]));
  assert.deepEqual(
    hosts.filter((host) => /example/i.test(host)),
    ["api.example.com:80 → outbound|80||a.shop.svc.cluster.local"],
  );
});

test("a route keeps sessions as the first of its destinations that asks for it", () => {
  const core = new Core({ features: { persistentSessionFilter: true } });
  apply(
    core,
    aService("a", "shop"),
    aService("b", "shop", { labels: { "istio.io/persistent-session": "id:/x" } }),
    aConfig("VirtualService", "shop", "vs", routeTo("a.shop.svc.cluster.local", "b.shop.svc.cluster.local")),
  );
  const [host] = hostsIn(resourceOf(core, aSidecar("shop"), typeUrl.route, "80"));
  assert.match(
    JSON.stringify(host?.routes[0]),
    /"envoy.filters.http.stateful_session":.*"cookie":{"name":"id","path":"\/x"}/,
  );
});

test("where requests for any port arrive, a host without a service is called on port 80 alone", () => {
  const ports = [aPort("http", 80, "HTTP"), aPort("http-2", 8080, "HTTP")];
  const hosts = virtualHosts(
    [aService("a", "shop", { ports }), aConfig("VirtualService", "shop", "vs", toV1(["a", "nowhere.example"]))],
    "http_proxy",
  );
  assert.deepEqual(
    hosts.map(({ name, domains }) => `${name}: ${domains[0]}`),
    [
      "a.shop.svc.cluster.local:80: a.shop.svc.cluster.local",
      "a.shop.svc.cluster.local:8080: a.shop.svc.cluster.local:8080",
      "nowhere.example:80: nowhere.example",
      "allow_any: *",
    ],
  );
});
