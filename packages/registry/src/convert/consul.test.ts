import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsulInstance, ConsulServiceKey } from "../consul.ts";
import { registry } from "../registry/sample-objects.fixture.ts";
import { consulHosts, consulLabels } from "./consul.ts";

const key: ConsulServiceKey = { datacenter: "dc1", partition: "", namespace: "", name: "reviews" };

function instance(id: string, over: Partial<ConsulInstance> = {}): ConsulInstance {
  return {
    node: "n1",
    nodeAddress: "10.0.0.1",
    datacenter: "dc1",
    id,
    address: "",
    port: 9080,
    tags: [],
    meta: {},
    taggedAddresses: {},
    weights: { passing: 1, warning: 1 },
    locality: { region: "", zone: "" },
    checks: [],
    ...over,
  };
}

/** The mesh's view of the instances: `host port/name/protocol …`, then an endpoint a line. */
function view(...instances: readonly ConsulInstance[]) {
  const one = registry();
  const { changes } = one.apply([{ type: "consul", op: "put", key, instances }]);
  const service = changes.find(
    (c) => c.type === "service" && c.op === "put" && c.key.hostname === "reviews.service.consul",
  );
  const endpoints = changes.find((c) => c.type === "endpoints" && c.key.hostname === "reviews.service.consul");
  return {
    service: service?.type === "service" && service.op === "put" ? service.value : undefined,
    endpoints: endpoints?.type === "endpoints" && endpoints.op === "put" ? endpoints.value : [],
    problems: one.problems(),
    changes,
  };
}

test("a service has the host, namespace, place and identity of Istio's former Consul adapter", () => {
  const { service, endpoints, changes } = view(instance("a", { meta: { protocol: "http" } }));
  assert.equal(service?.namespace, "default");
  assert.equal(service?.defaultAddress, "0.0.0.0");
  assert.equal(service?.resolution, "client-side");
  assert.deepEqual(service?.ports, [{ name: "http", number: 9080, protocol: "HTTP" }]);
  const [endpoint] = endpoints;
  assert.deepEqual(endpoint?.addresses, ["10.0.0.1"]);
  assert.equal(endpoint?.locality, "dc1");
  assert.equal(endpoint?.serviceAccount, "spiffe://cluster.local/ns/default/sa/default");
  assert.equal(endpoint?.definedBy, "Consul/dc1/reviews/a");
  assert.deepEqual(changes.map(({ type, key }) => `${type} ${key.shard} ${"hostname" in key && key.hostname}`).sort(), [
    "endpoints Consul/dc1 reviews.service.consul",
    "endpoints Consul/dc1 reviews.service.dc1.consul",
    "service Consul/dc1 reviews.service.consul",
    "service Consul/dc1 reviews.service.dc1.consul",
  ]);
});

const hosts = [
  { name: "in the defaults", over: {}, everywhere: "reviews.service.consul", here: "reviews.service.dc1.consul" },
  {
    name: "in default namespace by name",
    over: { namespace: "default" },
    everywhere: "reviews.service.consul",
    here: "reviews.service.dc1.consul",
  },
  {
    name: "in a namespace",
    over: { namespace: "a" },
    everywhere: "reviews.service.a.ns.consul",
    here: "reviews.service.a.ns.dc1.dc.consul",
  },
  {
    name: "in a partition",
    over: { partition: "p" },
    everywhere: "reviews.service.p.ap.consul",
    here: "reviews.service.p.ap.dc1.dc.consul",
  },
] as const;
for (const { name, over, everywhere, here } of hosts) {
  test(`hosts of a service ${name}`, () => assert.deepEqual(consulHosts({ ...key, ...over }), { everywhere, here }));
}

test("tags of both forms, plain tags and meta data are labels; tags win", () => {
  const tags = ["version|v1", "zone=a=b", "canary"];
  const meta = { version: "v0", team: "x", protocol: "http", external: "" };
  const labels = { version: "v1", zone: "a=b", team: "x", "tags.consul/canary": "true" };
  assert.deepEqual(consulLabels(instance("a", { tags, meta })), labels);
  assert.equal(view(instance("a", { tags: ["security.istio.io/tlsMode|istio"] })).endpoints[0]?.tlsMode, "istio");
});

const health = [
  { name: "no checks", checks: [], health: "healthy", weight: 5 },
  { name: "passing", checks: ["passing", "passing"], health: "healthy", weight: 5 },
  { name: "a warning", checks: ["passing", "warning"], health: "healthy", weight: 2 },
  { name: "a critical node", checks: ["critical", "passing"], health: "unhealthy", weight: 5 },
] as const;
for (const { name, checks, health: expected, weight } of health) {
  test(`health and weight with ${name}`, () => {
    const [endpoint] = view(instance("a", { checks, weights: { passing: 5, warning: 2 } })).endpoints;
    assert.deepEqual([endpoint?.health, endpoint?.weight], [expected, weight]);
  });
}

test("a warning of weight 0 takes the instance out", () => {
  const [endpoint] = view(instance("a", { checks: ["warning"], weights: { passing: 5, warning: 0 } })).endpoints;
  assert.equal(endpoint?.health, "unhealthy");
});

test("ports are the union over the instances, each with a name of its own", () => {
  const { service, endpoints } = view(
    instance("a", { meta: { protocol: "http" } }),
    instance("b", { port: 9081, meta: { protocol: "http" } }),
    instance("c", { port: 9082 }),
  );
  assert.deepEqual(
    service?.ports.map(({ name, number }) => `${name} ${number}`),
    ["http 9080", "http-9081 9081", "tcp 9082"],
  );
  assert.deepEqual(
    endpoints.map(({ servicePortName, port }) => `${servicePortName} ${port}`),
    ["http 9080", "http-9081 9081", "tcp 9082"],
  );
});

test("external services pass through; a virtual address that all share is the service's", () => {
  assert.equal(view(instance("a", { meta: { external: "true" } })).service?.resolution, "passthrough");
  const virtual = instance("a", { taggedAddresses: { "consul-virtual": "240.0.0.1" } });
  assert.equal(view(virtual).service?.defaultAddress, "240.0.0.1");
  assert.equal(view(virtual, instance("b")).service?.defaultAddress, "0.0.0.0");
});

test("the order of the answer does not matter", () => {
  const [a, b] = [instance("a"), instance("b", { meta: { protocol: "http" } })];
  assert.deepEqual(view(a, b), view(b, a));
});

test("problems of an instance are named, and the others stay", () => {
  const { service, endpoints, problems } = view(
    instance("a", { meta: { protocol: "smtp" } }),
    instance("b", { port: 0 }),
    instance("c", { nodeAddress: "" }),
    instance("d", { meta: { protocol: "http" } }),
  );
  assert.deepEqual(service?.ports, [{ name: "tcp", number: 9080, protocol: "TCP" }]);
  assert.deepEqual(
    endpoints.map(({ definedBy }) => definedBy),
    ["Consul/dc1/reviews/a", "Consul/dc1/reviews/d"],
  );
  assert.deepEqual(
    problems.map(({ object, field }) => `${object} ${field}`),
    [
      "Consul/dc1/reviews/a Service.Meta[protocol]",
      "Consul/dc1/reviews/b Service.Port",
      "Consul/dc1/reviews/c Service.Address",
      "Consul/dc1/reviews/c Service.Meta[protocol]",
      "Consul/dc1/reviews/d Service.Meta[protocol]",
    ],
  );
});

test("a service without instances is gone, which is urgent; the trust domain reaches its endpoints", () => {
  const one = registry();
  one.apply([{ type: "consul", op: "put", key, instances: [instance("a")] }]);
  const spec = { trustDomain: "other" };
  const mesh = { kind: "MeshConfig", namespace: "", name: "mesh" };
  const renamed = one.apply([
    {
      type: "config",
      op: "put",
      key: mesh,
      value: { key: mesh, labels: {}, annotations: {}, creationTimeMs: 0, spec },
    },
  ]);
  assert.equal(renamed.changes.length, 2);
  const { changes, urgent } = one.apply([{ type: "consul", op: "put", key, instances: [] }]);
  assert.equal(urgent, true);
  assert.deepEqual(
    changes.map(({ op }) => op),
    ["delete", "delete", "delete", "delete"],
  );
  assert.deepEqual(one.state(), []);
});

test("sidecars and gateways of Consul's own mesh are no services", () => {
  const proxy = instance("reviews-sidecar-proxy", { kind: "connect-proxy", port: 21_000 });
  assert.equal(view(proxy, instance("gateway", { kind: "mesh-gateway" })).service, undefined);
  const { endpoints } = view(proxy, instance("r1"), instance("typical", { kind: "typical" }));
  assert.deepEqual(
    endpoints.map(({ port }) => port),
    [9080, 9080],
  );
});
