/** Findings of analyzers in what an installation consists of: definitions, webhooks, images, and parts that are about to go. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aPod, check, messagesOf, one } from "./analyzers.fixture.ts";
import { knownAnnotations } from "./annotation-table.ts";
import { parsedValues, proxyImageOfValues } from "./injection-values.ts";

const definition = (name: string, version?: string) =>
  one(
    "CustomResourceDefinition",
    name,
    {},
    {
      namespace: "",
      annotations: version === undefined ? {} : { "gateway.networking.k8s.io/bundle-version": version },
    },
  );
const tls = "tlsroutes.gateway.networking.k8s.io";
const tooOld = [`GatewayApiVersionBelowMinimum ${tls} metadata.annotations`];
check("gateway-api-versions", [
  ["the minimum", [definition(tls, "v1.5.0")], []],
  ["a candidate of it", [definition(tls, "v1.5.0-rc.1")], []],
  ["a later one", [definition(tls, "2.0.0")], []],
  ["an earlier one", [definition(tls, "v1.4.9")], tooOld],
  ["an earlier one of a higher patch", [definition(tls, "v0.9.10")], tooOld],
  ["another definition", [definition("others.example.com", "v0.1.0")], []],
  ["without a version", [definition(tls)], []],
  ["with a text that is none", [definition(tls, "main")], []],
]);

const hook = (clientConfig: object, name = "istio-sidecar-injector", kind = "MutatingWebhookConfiguration") =>
  one(kind, name, {}, { namespace: "", fields: { webhooks: [{ name: "w", clientConfig }] } });
const at = "istio-sidecar-injector webhooks[0].clientConfig";
check("external-control-plane", [
  ["a service", [hook({ service: { name: "istiod" } })], []],
  ["a name", [hook({ url: "https://mesh.example/inject" })], []],
  ["an address", [hook({ url: "https://192.0.2.1/inject" })], [`ExternalControlPlaneByAddress ${at}.url`]],
  ["an address of IPv6", [hook({ url: "https://[2001:db8::1]/inject" })], [`ExternalControlPlaneByAddress ${at}.url`]],
  ["neither", [hook({})], [`InvalidExternalControlPlane ${at}`]],
  ["an empty one", [hook({ url: "" })], []],
  ["no URL", [hook({ url: "mesh" })], [`InvalidExternalControlPlane ${at}.url`]],
  ["a blank in it", [hook({ url: "https://mesh.example/ inject" })], [`InvalidExternalControlPlane ${at}.url`]],
  ["a port out of range", [hook({ url: "https://mesh.example:70000" })], [`InvalidExternalControlPlane ${at}.url`]],
  ["of others", [hook({}, "other"), hook({}, "istio-sidecar-injector", "ValidatingWebhookConfiguration")], []],
  [
    "validators",
    ["istiod-default-validator", "istio-validator-x"].map((name) => hook({}, name, "ValidatingWebhookConfiguration")),
    ["istio-validator-x", "istiod-default-validator"].map(
      (name) => `InvalidExternalControlPlane ${name} webhooks[0].clientConfig`,
    ),
  ],
]);

const condition = (type: string, status: string, reason = "") => ({ type, status, reason, message: "m" });
const reported = (kind: string, ...conditions: readonly object[]) =>
  one(kind, "a", {}, { fields: { status: { conditions } } });
const negative = (place = "status.conditions[0]") => [`NegativeConditionStatus a ${place}`];
check("conditions", [
  ["a route that is accepted", [reported("HTTPRoute", condition("Accepted", "True"))], []],
  ["a route that is not", [reported("HTTPRoute", condition("Accepted", "False"))], negative()],
  ["another condition", [reported("HTTPRoute", condition("Other", "False"))], []],
  [
    "a route that a parent does not accept",
    [
      one(
        "HTTPRoute",
        "a",
        {},
        { fields: { status: { parents: [{ conditions: [condition("ResolvedRefs", "False")] }] } } },
      ),
    ],
    negative("status.parents[0].conditions[0]"),
  ],
  [
    "a policy that a waypoint follows in part",
    [reported("AuthorizationPolicy", condition("WaypointAccepted", "True", "PartiallyInvalid"))],
    negative(),
  ],
  [
    "a policy that ztunnels follow",
    [reported("AuthorizationPolicy", condition("ZtunnelAccepted", "True", "PartiallyInvalid"))],
    [],
  ],
  [
    "a policy that is followed",
    [reported("AuthorizationPolicy", condition("WaypointAccepted", "True", "Accepted"))],
    [],
  ],
  [
    "a service entry with the reason of a policy",
    [reported("ServiceEntry", condition("WaypointAccepted", "True", "PartiallyInvalid"))],
    [],
  ],
  [
    "a service entry without its waypoint",
    [reported("ServiceEntry", condition("istio.io/WaypointBound", "False"))],
    negative(),
  ],
]);

const deprecated = (name: string, field = "") => [`Deprecated ${name} ${field}`.trim()];
const removed = (group: string, kind: string) =>
  one("CustomResourceDefinition", "d", { group, names: { kind } }, { namespace: "" });
const providers = (...names: readonly string[]) => ({ providers: names.map((name) => ({ name })) });
check("deprecated", [
  ["a kind that was removed", [removed("rbac.istio.io", "ServiceRole")], deprecated("d")],
  ["a kind of another group", [removed("example.com", "ServiceRole")], []],
  ["another kind of the group", [removed("rbac.istio.io", "Other")], []],
  [
    "an egress proxy",
    [one("Sidecar", "s", { outboundTrafficPolicy: { egressProxy: { host: "a" } } })],
    deprecated("s", "spec.outboundTrafficPolicy.egressProxy"),
  ],
  ["a Sidecar without one", [one("Sidecar", "s", { outboundTrafficPolicy: { mode: "ALLOW_ANY" } })], []],
  [
    "a percent of delays",
    [one("VirtualService", "v", { http: [{}, { fault: { delay: { percent: 1 } } }] })],
    deprecated("v", "spec.http[1].fault.delay.percent"),
  ],
  ["no percent of delays", [one("VirtualService", "v", { http: [{ fault: { delay: { percent: 0 } } }] })], []],
  ["a provider without a mesh", [one("Telemetry", "t", { tracing: [providers("ls")] })], []],
]);

const values = (global: unknown) =>
  one(
    "ConfigMap",
    "istio-sidecar-injector",
    {},
    {
      namespace: "istio-system",
      fields: { data: { values: typeof global === "string" ? global : JSON.stringify({ global }) } },
    },
  );

describe("the values of injection", () => {
  const images: readonly (readonly [global: unknown, image: string])[] = [
    [{ hub: "h.example/x", tag: "1.30.0", proxy: { image: "proxyv2" } }, "h.example/x/proxyv2:1.30.0"],
    [{ hub: "h", tag: 1.3, proxy: { image: "proxyv2" } }, "h/proxyv2:1.3"],
    [{ hub: "h", tag: true, proxy: { image: "proxyv2" } }, "h/proxyv2:"],
    [{ hub: "h", tag: "1", proxy: { image: "other.example/proxy:2" } }, "other.example/proxy:2"],
  ];
  for (const [global, image] of images)
    it(`give ${image}`, () => assert.equal(proxyImageOfValues(values(global)), image));

  it("are empty where they are no object, no JSON or absent", () => {
    for (const text of ["[", "7", "null", ""]) assert.deepEqual(parsedValues(values(text)), {}, text);
    assert.deepEqual(parsedValues(one("ConfigMap", "a")), {});
    assert.deepEqual(parsedValues(values({ hub: "h" })), { global: { hub: "h" } });
  });
});

const map = values({ hub: "h", tag: "1", proxy: { image: "proxyv2" } });
const injected = (labels: Readonly<Record<string, string>>) => one("Namespace", "shop", {}, { namespace: "", labels });
const enabled = injected({ "istio-injection": "enabled" });
const proxied = (image: string, more: Parameters<typeof aPod>[2] = {}) =>
  aPod("p", { app: "web" }, { ...more, spec: { containers: [{ name: "istio-proxy", image }] } });
const config = (name: string, imageType: string, selector?: object, namespace = "shop") =>
  one(
    "ProxyConfig",
    name,
    { image: { imageType }, ...(selector && { selector: { matchLabels: selector } }) },
    { namespace },
  );
const mismatch = ["ProxyImageMismatch shop"];
check("proxy-images", [
  ["the image of injection", [enabled, map, proxied("h/proxyv2:1")], []],
  ["another one", [enabled, map, proxied("h/proxyv2:2")], mismatch],
  ["another one in a namespace that is not injected", [injected({}), map, proxied("h/proxyv2:2")], []],
  ["another one of a revision without values", [injected({ "istio.io/rev": "x" }), map, proxied("h/proxyv2:2")], []],
  [
    "another one of the default revision",
    [injected({ "istio.io/rev": "default" }), map, proxied("h/proxyv2:2")],
    mismatch,
  ],
  [
    "another one that the pod names",
    [enabled, map, proxied("h/proxyv2:2", { annotations: { "sidecar.istio.io/proxyImage": "h/proxyv2:2" } })],
    [],
  ],
  ["a variant that nothing names", [enabled, map, proxied("h/proxyv2:1-debug")], mismatch],
  [
    "the variant of the pod's annotation",
    [enabled, map, proxied("h/proxyv2:1-debug", { annotations: { "sidecar.istio.io/proxyImageType": "debug" } })],
    [],
  ],
  [
    "the variant of the pod's own proxy settings",
    [
      enabled,
      map,
      proxied("h/proxyv2:1-debug", { annotations: { "proxy.istio.io/config": "image: {imageType: debug}" } }),
    ],
    [],
  ],
  [
    "the variant of a ProxyConfig that selects it",
    [enabled, map, proxied("h/proxyv2:1-a"), config("c", "a", { app: "web" }), config("d", "b")],
    [],
  ],
  [
    "the variant of one for another pod",
    [enabled, map, proxied("h/proxyv2:1-a"), config("c", "a", { app: "db" })],
    mismatch,
  ],
  [
    "the variant of its namespace",
    [enabled, map, proxied("h/proxyv2:1-b"), config("d", "b"), config("e", "c", undefined, "istio-system")],
    [],
  ],
  [
    "the variant of the root namespace",
    [enabled, map, proxied("h/proxyv2:1-c"), config("e", "c", undefined, "istio-system")],
    [],
  ],
  [
    "no variant where one is called default",
    [enabled, map, proxied("h/proxyv2:1-default"), config("d", "default")],
    mismatch,
  ],
]);

const route = (name: string, hosts: readonly string[], spec: object = {}, namespace = "shop") =>
  one("VirtualService", name, { hosts, ...spec }, { namespace });
const conflict = (...names: readonly string[]) => names.map((name) => `ConflictingMeshHosts ${name} spec.hosts[0]`);
check("mesh-host-conflicts", [
  ["one host of two", [route("a", ["x.example"]), route("b", ["x.example"])], conflict("a", "b")],
  ["two hosts", [route("a", ["x.example"]), route("b", ["y.example"])], []],
  ["a gateway's", [route("a", ["x.example"]), route("b", ["x.example"], { gateways: ["g"] })], []],
  ["a name and a wildcard that are seen by all", [route("a", ["x.example"]), route("b", ["*.example"])], []],
  [
    "a name for one namespace and a wildcard for all",
    [route("a", ["x.example"], { exportTo: ["."] }), route("b", ["*.example"])],
    conflict("a", "b"),
  ],
  [
    "a wildcard for one namespace and a name for all",
    [route("a", ["*.example"], { exportTo: ["."] }), route("b", ["x.example"])],
    conflict("a", "b"),
  ],
  [
    "one host for two namespaces",
    [route("a", ["x.example"], { exportTo: ["."] }), route("b", ["x.example"], { exportTo: ["."] }, "bank")],
    [],
  ],
  [
    "one host for one namespace and for all",
    [route("a", ["x.example"], { exportTo: ["."] }), route("b", ["x.example"], {}, "bank")],
    conflict("b", "a"),
  ],
]);

describe("the table of annotations", () => {
  it("has them by their whole names, with what they may stand on", () => {
    assert.deepEqual(knownAnnotations.get("kubernetes.io/ingress.class"), {
      ...{ kinds: ["Ingress"], isAlpha: false, isDeprecated: false },
    });
    assert.deepEqual(knownAnnotations.get("topology.istio.io/controlPlaneClusters"), {
      ...{ kinds: ["Namespace"], isAlpha: true, isDeprecated: false },
    });
    const old = [...knownAnnotations].filter(([, { isDeprecated }]) => isDeprecated);
    assert.ok(old.length > 0 && old.every(([name]) => /^[\w.]+\/[^-]/.test(name)), old.join());
  });
});

describe("issuer-addresses", () => {
  const istiod = (...env: readonly object[]) =>
    one("Deployment", "istiod", { template: { spec: { containers: [{ env }] } } }, { labels: { app: "istiod" } });
  const issuers = (count: number) =>
    Array.from({ length: count }, (_, at) => one("RequestAuthentication", `r${at + 1}`));
  const found = (objects: Parameters<typeof messagesOf>[1]) => messagesOf("issuer-addresses", objects).join();

  it("names the policies whose keys are fetched, five at most", () => {
    assert.match(found([istiod(), ...issuers(2)]), /keys of 2 .*\(shop\/r1, shop\/r2\): set BLOCKED/);
    assert.match(found([istiod(), ...issuers(5)]), /keys of 5 .*\(shop\/r1, .*, shop\/r5\)/);
    assert.match(found([istiod(), ...issuers(7)]), /keys of 7 .*\(shop\/r1, .*, shop\/r5 and 2 more\)/);
  });
  it("finds nothing where no keys are fetched, or ranges are blocked", () => {
    assert.equal(found([istiod()]), "");
    assert.equal(found([istiod({ name: "BLOCKED_CIDRS_IN_JWKS_URIS", value: "10.0.0.0/8" }), ...issuers(2)]), "");
    assert.notEqual(found([istiod({ name: "BLOCKED_CIDRS_IN_JWKS_URIS", value: "" }), ...issuers(2)]), "");
  });
});

const filterPatch = (operation: string, applyTo = "HTTP_FILTER", proxyVersion?: string) => ({
  applyTo,
  ...(proxyVersion !== undefined && { match: { proxy: { proxyVersion } } }),
  patch: { operation, value: { name: "f" } },
});
const filterOf = (name: string, ...configPatches: readonly object[]) => one("EnvoyFilter", name, { configPatches });
check("envoy-filters", [
  ["an addition", [filterOf("a", filterPatch("ADD"))], []],
  ["an addition to routes", [filterOf("a", filterPatch("ADD", "HTTP_ROUTE"))], ["AddMisused a spec.configPatches[0]"]],
  ["a removal", [filterOf("a", filterPatch("REMOVE", "HTTP_ROUTE"))], ["RemoveMisused a spec.configPatches[0]"]],
  ["a replacement", [filterOf("a", filterPatch("REPLACE", "CLUSTER"))], ["ReplaceMisused a spec.configPatches[0]"]],
  [
    "an insertion after one for a version",
    [filterOf("a", filterPatch("ADD", "HTTP_FILTER", "1.2"), filterPatch("INSERT_AFTER"))],
    ["RelativeOperationWithProxyVersion a spec.configPatches[1]"],
  ],
  [
    "an insertion before one for a version",
    [filterOf("a", filterPatch("INSERT_AFTER"), filterPatch("ADD", "HTTP_FILTER", "1.2"))],
    ["RelativeOperation a spec.configPatches[0]"],
  ],
  [
    "an insertion for a version",
    [filterOf("a", filterPatch("INSERT_AFTER", "HTTP_FILTER", "1.2"))],
    ["RelativeOperation a spec.configPatches[0]"],
  ],
  [
    "an insertion after another EnvoyFilter for a version",
    [filterOf("a", filterPatch("ADD", "HTTP_FILTER", "1.2")), filterOf("b", filterPatch("INSERT_AFTER"))],
    ["RelativeOperationWithProxyVersion b spec.configPatches[0]"],
  ],
]);
