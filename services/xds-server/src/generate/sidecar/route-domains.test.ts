import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aPort, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

/** The domains of each virtual host of a route configuration. */
function domains(route: string, metadata: Readonly<Record<string, unknown>>, ...values: readonly (Service | Config)[]) {
  const found = resourceOf(aMesh(...values), aSidecar("shop", metadata), typeUrl.route, route);
  const hosts = (found?.["virtualHosts"] ?? []) as readonly JsonObject[];
  return Object.fromEntries(hosts.map((host) => [host["name"], host["domains"]])) as Record<string, readonly string[]>;
}

function anAlias(name: string, namespace: string, externalName: string, exportTo: readonly string[] = []): Service {
  const traits = { nodeLocal: false, publishNotReadyAddresses: false, headless: false, targetPorts: {} };
  const kubernetes = { type: "ExternalName", externalName, ...traits };
  return aService(name, namespace, { resolution: "alias", meshExternal: true, exportTo, kubernetes });
}

test("other names of a service count wherever they are visible, names of names too", () => {
  const found = domains(
    "80",
    {},
    aService("web", "shop"),
    anAlias("hidden", "back", "web.shop.svc.cluster.local", ["."]),
    anAlias("chained", "back", "hidden.back.svc.cluster.local"),
    anAlias("circle", "back", "circle.back.svc.cluster.local"),
  );
  const names = (found["web.shop.svc.cluster.local:80"] ?? []).filter((domain) =>
    domain.endsWith(".svc.cluster.local"),
  );
  assert.deepEqual(names, [
    "web.shop.svc.cluster.local",
    "chained.back.svc.cluster.local",
    "hidden.back.svc.cluster.local",
  ]);
});

test("a forward proxy takes a service without a port for its first port only", () => {
  const ports = (...numbers: readonly number[]) => ({
    ports: numbers.map((number) => aPort(`p${number}`, number, "HTTP")),
  });
  const proxied = { HTTP_PROXY_PORT: "15007" };
  const found = domains(
    "http_proxy",
    proxied,
    aService("a", "shop", ports(80, 81)),
    aService("b", "shop", ports(81, 80)),
  );
  assert.ok(found["a.shop.svc.cluster.local:80"]?.includes("a.shop"));
  assert.ok(!found["b.shop.svc.cluster.local:80"]?.includes("b.shop"));
  assert.ok(found["b.shop.svc.cluster.local:80"]?.includes("b.shop:80"));
});

test("a host of a VirtualService whose port is for UDP is no service on that port", () => {
  const service = aService("u", "shop", { ports: [aPort("udp", 80, "UDP")] });
  const route = [{ destination: { host: "u" } }];
  const found = domains(
    "80",
    {},
    aService("web", "shop"),
    service,
    aConfig("VirtualService", "shop", "u", { hosts: ["u"], http: [{ route }] }),
  );
  assert.deepEqual(found["u.shop.svc.cluster.local:80"], ["u.shop.svc.cluster.local"]);
});

const redirects = [
  { redirect: { port: 80 }, want: undefined },
  { redirect: { port: 443 }, want: 443 },
  { redirect: { port: 443, scheme: "https" }, want: undefined },
  { redirect: { port: 80, scheme: "https" }, want: 80 },
] as const;

for (const { redirect, want } of redirects) {
  test(`a redirect to ${JSON.stringify(redirect)} names a port that is not its scheme's own`, () => {
    const spec = { hosts: ["r.example"], http: [{ redirect: { authority: "x", ...redirect } }] };
    const core = aMesh(aService("web", "shop"), aConfig("VirtualService", "shop", "r", spec));
    const text = JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.route, "80"));
    assert.equal(/"portRedirect":(\d+)/.exec(text)?.[1], want === undefined ? undefined : String(want));
  });
}

test("a VirtualService's host that no service stands for keeps its name where that is short for a service", () => {
  const rule = aConfig("VirtualService", "shop", "v", {
    hosts: ["ratings.depot.svc.cluster.local", "ratings.depot"],
    http: [{ route: [{ destination: { host: "ratings.depot.svc.cluster.local" } }] }],
  });
  const found = domains("80", {}, aService("ratings", "depot"), rule);
  assert.deepEqual(found["ratings.depot:80"], ["ratings.depot"]);
  assert.ok(found["ratings.depot.svc.cluster.local:80"]?.includes("ratings.depot.svc"));
  assert.ok(!found["ratings.depot.svc.cluster.local:80"]?.includes("ratings.depot"));
});

test("a wildcard of a VirtualService is no host of its own where services overlap with it", () => {
  const rule = (name: string, host: string) =>
    aConfig("VirtualService", "shop", name, {
      hosts: [host],
      http: [{ route: [{ destination: { host: "web" } }] }],
    });
  const wild = { ...aService("wild", "shop"), hostname: "*.wild.example" };
  const hosts = (...values: readonly (Service | Config)[]) =>
    Object.keys(domains("80", {}, aService("web", "shop"), wild, ...values)).filter((name) => name.startsWith("*"));
  assert.deepEqual(hosts(rule("outer", "*.example")), ["*.wild.example:80"]);
  assert.deepEqual(hosts(rule("inner", "*.a.wild.example")), ["*.wild.example:80"]);
  assert.deepEqual(hosts(rule("other", "*.other.example")), ["*.other.example:80", "*.wild.example:80"]);
});
