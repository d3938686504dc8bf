import assert from "node:assert/strict";
import { test } from "node:test";
import { loadMesh } from "../load-mesh.ts";
import type { RegistryInput } from "../registry/registry-input.ts";
import { config, gone, keyOf, put, registry, service } from "../registry/sample-objects.fixture.ts";
import { DiscoveryFilter } from "./discovery-filter.ts";

const selectors = [{ matchLabels: { mesh: "on" } }];

function namespace(name: string, labels: Readonly<Record<string, string>>): RegistryInput {
  return put({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
}

function mesh(discoverySelectors: unknown): RegistryInput {
  return config("MeshConfig", "mesh", { discoverySelectors });
}

function keys(one: ReturnType<typeof registry>, inputs: readonly RegistryInput[]): readonly string[] {
  return one.apply(inputs).changes.map((change) => `${change.op} ${keyOf(change)}`);
}

const a = "s|Kubernetes/Kubernetes|n|a.n.svc.cluster.local|a";

test("services follow the labels of their namespace", () => {
  const one = registry();
  assert.deepEqual(keys(one, [mesh(selectors), put(service("a"))]), []);
  assert.deepEqual(keys(one, [namespace("n", { mesh: "on" })]), [`put ${a}`]);
  assert.deepEqual(keys(one, [namespace("n", {})]), [`delete ${a}`]);
  assert.deepEqual(keys(one, [namespace("other", { mesh: "on" })]), []);
  assert.deepEqual(keys(one, [namespace("n", { mesh: "on" })]), [`put ${a}`]);
  assert.deepEqual(keys(one, [gone("Namespace", "n", "")]), [`delete ${a}`]);
});

test("services follow the selectors, and what went meanwhile does not come back", () => {
  const one = registry();
  keys(one, [namespace("n", {}), put(service("a")), put(service("b"))]);
  assert.equal(keys(one, [mesh(selectors)]).length, 2);
  keys(one, [gone("Service", "b")]);
  assert.deepEqual(keys(one, [mesh([])]), [`put ${a}`]);
});

test("a wrong selector is reported, and those before stay in force", () => {
  const one = registry();
  keys(one, [namespace("n", { mesh: "on" }), put(service("a")), mesh(selectors)]);
  assert.deepEqual(keys(one, [mesh([{ matchExpressions: [{ key: "x", operator: "Is" }] }])]), []);
  assert.deepEqual(
    one.problems().map(({ object, field }) => `${object} ${field}`),
    ["MeshConfig discoverySelectors[0].matchExpressions[0].operator"],
  );
  keys(one, [mesh(selectors)]);
  assert.deepEqual(one.problems(), []);
});

test("a whole mesh leaves out configuration too", () => {
  const entry = (namespace: string) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "e", namespace },
    spec: { hosts: [`${namespace}.example`], ports: [{ number: 80, name: "http" }] },
  });
  const on = { apiVersion: "v1", kind: "Namespace", metadata: { name: "on", labels: { mesh: "on" } } };
  const changes = loadMesh([entry("on"), entry("off"), on], { discoverySelectors: selectors as never });
  const names = changes.flatMap(({ key }) => ("name" in key && key.name === "e" ? [`${key.namespace}/e`] : []));
  assert.deepEqual(names, ["on/e", "on/e"]);
});

test("what leaves the view is deleted by its key, in the cluster that it is of", () => {
  const selected = mesh(selectors);
  const input = { ...put(service("a")), cluster: "west" } as RegistryInput;
  for (const [one, cluster] of [
    [put(service("a")), {}],
    [input, { cluster: "west" }],
  ] as const) {
    const filter = new DiscoveryFilter();
    filter.apply([selected, namespace("n", { mesh: "on" }), one]);
    const found = filter.apply([namespace("n", {})]).filter(({ type }) => type === "object");
    const key = { kind: "Service", namespace: "n", name: "a" };
    assert.deepEqual(
      found.filter((change) => "key" in change),
      [{ type: "object", op: "delete", key, ...cluster }],
    );
  }
});
