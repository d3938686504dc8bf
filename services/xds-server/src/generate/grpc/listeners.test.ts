import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, Service } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import { aConfig, aMesh, aPort, apply, aService, aSidecar } from "../../testing/mesh.ts";

const web = aService("web", "shop", { ports: [aPort("grpc", 80, "GRPC"), aPort("grpc-2", 81, "GRPC")] });
const aProgram = (labels: Readonly<Record<string, string>> = {}) =>
  aSidecar("shop", { GENERATOR: "grpc", LABELS: { app: "web", ...labels } });

/** The listeners that a program gets for these names; without names, all there are. */
function listeners(core: Core, asked: readonly string[] | undefined, program = aProgram()) {
  const set = core.resources(core.subjectOf(program), typeUrl.listener, asked && nameSet(asked));
  return new Map([...(set?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(typeUrl.listener, bytes)]));
}

const asked = [
  { name: "its full name", names: ["web.shop.svc.cluster.local:80"], want: ["web.shop.svc.cluster.local:80"] },
  { name: "a name without its namespace", names: ["web:80"], want: ["web:80"] },
  { name: "a name with its namespace", names: ["web.shop:80"], want: ["web.shop:80"] },
  { name: "a name that ends in svc", names: ["web.shop.svc:80"], want: ["web.shop.svc:80"] },
  { name: "no port, which means all", names: ["web"], want: ["web:80", "web:81"] },
  { name: "no port beside a port", names: ["web", "web:80"], want: ["web:80", "web:81"] },
  {
    name: "two names with a port each: both names have both",
    names: ["web:80", "web.shop.svc.cluster.local:81"],
    want: ["web:80", "web:81", "web.shop.svc.cluster.local:80", "web.shop.svc.cluster.local:81"],
  },
  { name: "a short name of another namespace", names: ["far.depot:80"], want: [] },
  { name: "a full name of another namespace", names: ["far.depot.svc.cluster.local:80"] },
  { name: "a port that it has not", names: ["web:82"], want: [] },
  { name: "a name of no service", names: ["nobody.example:80"], want: [] },
  { name: "no valid name", names: ["web:80:80", "web:"], want: [] },
];

for (const { name, names, want = names } of asked) {
  test(`a service is asked for by ${name}`, () => {
    const core = aMesh(web, aService("far", "depot"));
    assert.deepEqual([...listeners(core, names).keys()].sort(), [...want].sort());
  });
}

test("a program that names nothing gets a listener for each port of the services in its scope", () => {
  const sidecar = aConfig("Sidecar", "shop", "default", { egress: [{ hosts: ["./*"] }] });
  const found = listeners(aMesh(web, aService("far", "depot"), sidecar), undefined);
  assert.deepEqual([...found.keys()], ["web.shop.svc.cluster.local:80", "web.shop.svc.cluster.local:81"]);
});

test("an API listener names the routes of its service's port, whatever name it was asked for by", () => {
  const text = JSON.stringify(listeners(aMesh(web), ["web:81"]).get("web:81"));
  assert.match(text, /"routeConfigName":"outbound\|81\|\|web\.shop\.svc\.cluster\.local"/);
  assert.match(text, /"envoy\.filters\.http\.fault".*"envoy\.filters\.http\.router"/);
});

test("sessions of a service are kept by a filter ahead of the others", () => {
  const core = new Core({ features: { persistentSessionFilter: true } });
  apply(core, aService("web", "shop", { labels: { "istio.io/persistent-session": "id:/x" } }));
  const text = JSON.stringify(listeners(core, ["web:80"]).get("web:80"));
  assert.match(text, /"httpFilters":\[\{"name":"envoy\.filters\.http\.stateful_session".*"path":"\/x"/);
});

const server = "xds.istio.io/grpc/lds/inbound/0.0.0.0:80";

/** The listener of a server on port 80, with these objects in its namespace. */
function serverListener(configs: readonly Config[], labels: Readonly<Record<string, string>> = {}): JsonObject {
  const found = listeners(aMesh(served, ...configs), [server], aProgram(labels)).get(server);
  assert.ok(found, "the server has no listener");
  return found as JsonObject;
}

const traits = {
  type: "ClusterIP",
  nodeLocal: false,
  publishNotReadyAddresses: false,
  headless: false,
  targetPorts: {},
};
const served: Service = { ...web, labelSelectors: { app: "web" }, kubernetes: traits };

const modes = [
  { name: "STRICT", mode: "STRICT", labels: {}, want: "mtls" },
  { name: "DISABLE", mode: "DISABLE", labels: { "security.istio.io/tlsMode": "istio" }, want: "plaintext" },
  { name: "PERMISSIVE", mode: "PERMISSIVE", labels: {}, want: "plaintext" },
  {
    name: "PERMISSIVE, called by TLS",
    mode: "PERMISSIVE",
    labels: { "security.istio.io/tlsMode": "istio" },
    want: "mtls",
  },
] as const;

for (const { name, mode, labels, want } of modes) {
  test(`mutual TLS of a server: ${name}`, () => {
    const policy = aConfig("PeerAuthentication", "shop", "default", { mtls: { mode } });
    const text = JSON.stringify(serverListener([policy], labels));
    assert.match(text, new RegExp(`"name":"inbound-${want}"`));
    assert.equal(text.includes('"requireClientCertificate":true'), want === "mtls");
  });
}

test("a server has no listener for a port at which no service finds it, or for an address without a port", () => {
  const names = ["xds.istio.io/grpc/lds/inbound/0.0.0.0:8080", "xds.istio.io/grpc/lds/inbound/0.0.0.0"];
  assert.deepEqual([...listeners(aMesh(served), names).keys()], []);
});

const toPath = (path: string): JsonObject => ({ to: [{ operation: { paths: [path] } }] });
const policies = [
  { name: "none", policies: [], want: [] },
  { name: "one that allows", policies: [{ rules: [toPath("/a")] }], want: ["envoy.filters.http.rbac ALLOW shop-p0-0"] },
  {
    name: "one that denies and one that allows",
    policies: [{ rules: [toPath("/a"), toPath("/b")] }, { action: "DENY", rules: [toPath("/c")] }],
    want: ["envoy.filters.http.rbac.DENY DENY shop-p1-0", "envoy.filters.http.rbac ALLOW shop-p0-0 shop-p0-1"],
  },
  { name: "one that allows nothing", policies: [{}], want: ["envoy.filters.http.rbac ALLOW shop-p0-0 not-any"] },
  {
    name: "one that allows nothing beside one that allows",
    policies: [{}, { rules: [toPath("/a")] }],
    want: ["envoy.filters.http.rbac ALLOW shop-p1-0"],
  },
  { name: "one that denies nothing", policies: [{ action: "DENY" }], want: [] },
  { name: "one that only logs", policies: [{ action: "AUDIT", rules: [toPath("/a")] }], want: [] },
] as const;

for (const { name, policies: specs, want } of policies) {
  test(`policies of a server: ${name}`, () => {
    const configs = specs.map((spec, index) => aConfig("AuthorizationPolicy", "shop", `p${index}`, spec as JsonObject));
    assert.deepEqual(rbacFilters(serverListener(configs)), want);
  });
}

/** Name, action and policies of the RBAC filters, in order. */
function rbacFilters(listener: JsonObject): readonly string[] {
  const { filterChains } = listener as unknown as ServerListener;
  return filterChains
    .flatMap(({ filters }) => filters.flatMap(({ typedConfig }) => typedConfig.httpFilters))
    .filter(({ name }) => name.includes("rbac"))
    .map(({ name, typedConfig: { rules } }) => {
      const isNever = JSON.stringify(rules.policies).includes('"notRule":{"any":true}');
      return [name, rules.action ?? "ALLOW", ...Object.keys(rules.policies), ...(isNever ? ["not-any"] : [])].join(" ");
    });
}

interface ServerListener {
  readonly filterChains: readonly {
    readonly filters: readonly { readonly typedConfig: { readonly httpFilters: readonly RbacFilter[] } }[];
  }[];
}

interface RbacFilter {
  readonly name: string;
  readonly typedConfig: { readonly rules: { readonly action?: string; readonly policies: JsonObject } };
}
