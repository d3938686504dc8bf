import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/model";
import { meshConfigOf, meshNetworksOf } from "@flotilla/registry/config";
import { checkMeshDocument } from "./mesh-check.ts";

const cases: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["nothing", {}, []],
  ["a good one", { trustDomain: "td", defaultConfig: { concurrency: 2 } }, []],
  ["a field of a newer version", { fromTheFuture: 1 }, []],
  ["a wrong type", { trustDomain: 5 }, ["trustDomain"]],
  ["a port that is none", { proxyListenPort: 70_000 }, ["proxyListenPort"]],
  [
    "a setting of proxies that means nothing",
    { defaultConfig: { discoveryAddress: "x" } },
    ["defaultConfig.discoveryAddress"],
  ],
  ["a deprecated setting", { defaultConfig: { proxyMetadata: { ISTIO_META_DNS_AUTO_ALLOCATE: "true" } } }, []],
  ["a wrong value", { outboundTrafficPolicy: { mode: "SOME" } }, ["outboundTrafficPolicy.mode"]],
  [
    "a wrong type within",
    { fromTheFuture: 1, trustDomain: "td", defaultConfig: { binaryPath: "x", concurrency: "many" } },
    ["defaultConfig.concurrency"],
  ],
];

for (const [name, document, expected] of cases) {
  test(`a MeshConfig with ${name}`, () => {
    assert.deepEqual(
      checkMeshDocument(meshConfigOf(document)).map(({ field }) => field),
      expected,
    );
  });
}

test("MeshNetworks are checked as such", () => {
  const good = { networks: { a: { endpoints: [{ fromCidr: "10.0.0.0/8" }] } } };
  assert.deepEqual(checkMeshDocument(meshNetworksOf(good)), []);
  assert.equal(checkMeshDocument(meshNetworksOf({ networks: { a: { endpoints: 1 } } })).length, 1);
  const [problem] = checkMeshDocument(
    meshNetworksOf({ networks: { a: { endpoints: [{ fromCidr: "10.0.0.0/40" }] } } }),
  );
  assert.match(problem?.field ?? "", /endpoints\[0\]\.fromCidr/);
});
