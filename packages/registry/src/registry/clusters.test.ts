import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRegistrySettings } from "../settings.ts";
import { ClusterRegistries } from "./clusters.ts";
import type { RegistryChange } from "./published.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, pod, put, service, slice } from "./sample-objects.ts";

const of = (cluster: string, ...inputs: readonly RegistryInput[]): readonly RegistryInput[] =>
  inputs.map((input) => (input.type === "object" ? { ...input, cluster } : input));

function short(changes: readonly RegistryChange[]): readonly string[] {
  return changes.map(({ type, op, key }) => `${op} ${type} ${key.shard}`).sort();
}

test("clusters have shards of their own; the mesh documents hold for those that come later too", () => {
  const all = new ClusterRegistries(defaultRegistrySettings);
  all.apply([config("MeshConfig", "mesh", { trustDomain: "td" })]);
  const objects = (address: string) => [
    put(service("a")),
    put(pod("p", address)),
    put(slice("s", "a", { p: address })),
  ];
  all.apply(objects("10.1.0.1"));
  const { changes } = all.apply(of("east", ...objects("10.2.0.1")));
  assert.deepEqual(short(changes), ["put endpoints Kubernetes/east", "put service Kubernetes/east"]);
  const endpoints = changes.find(({ type }) => type === "endpoints");
  assert.equal(endpoints?.type === "endpoints" && endpoints.op === "put" && endpoints.value[0]?.clusterId, "east");
  assert.equal(
    endpoints?.type === "endpoints" && endpoints.op === "put" && endpoints.value[0]?.serviceAccount,
    "spiffe://td/ns/n/sa/sa",
  );
  assert.equal(all.state().length, 4);
  const left = all.apply([{ type: "cluster", op: "delete", cluster: "east" }]);
  assert.deepEqual(short(left.changes), ["delete endpoints Kubernetes/east", "delete service Kubernetes/east"]);
  assert.equal(left.urgent, true);
  assert.deepEqual(short(all.state()), ["put endpoints Kubernetes/Kubernetes", "put service Kubernetes/Kubernetes"]);
});
