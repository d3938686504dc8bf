/** Names of shards and endpoints. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { endpointsKeyText, parseShard } from "./endpoint.ts";

it("a shard is named by its registry and cluster", () => {
  assert.deepEqual(parseShard("Kubernetes/east/1"), { registry: "Kubernetes", clusterId: "east/1" });
  assert.deepEqual(parseShard("Consul"), { registry: "Consul", clusterId: "Consul" });
  assert.deepEqual(parseShard("/x"), { registry: "", clusterId: "x" });
});

it("endpoints are named by shard, namespace and host", () =>
  assert.equal(endpointsKeyText({ shard: "a/b", namespace: "n", hostname: "h" }), "a/b|n|h"));
