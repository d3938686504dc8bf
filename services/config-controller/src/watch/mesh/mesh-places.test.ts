/** Where the mesh's documents lie, by settings and by what is there. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { meshConfigPlaces, meshNetworksPlaces } from "./mesh-places.ts";

const directory = mkdtempSync(join(tmpdir(), "mesh-places-"));
after(() => rmSync(directory, { recursive: true }));
const there = join(directory, "there.yaml");
writeFileSync(there, "");
const missing = join(directory, "missing.yaml");
const none = {
  ...{ meshConfigFile: undefined, meshNetworksFile: undefined, sharedMeshConfig: undefined },
  ...{ revision: "", namespace: "mesh" },
};
type Given = Partial<Parameters<typeof meshConfigPlaces>[0]>;

const cases: readonly (readonly [name: string, given: Given, hasCluster: boolean, places: readonly string[]])[] = [
  ["without a cluster", {}, false, []],
  ["without a cluster, of a file", { meshConfigFile: there }, false, [there]],
  ["without a cluster, of a file that comes later", { meshConfigFile: missing }, false, [missing]],
  ["without a cluster, shared ones are none", { sharedMeshConfig: "shared" }, false, []],
  ["of a cluster", {}, true, ["mesh/istio mesh"]],
  ["of the default revision", { revision: "default" }, true, ["mesh/istio mesh"]],
  ["of a revision", { revision: "canary" }, true, ["mesh/istio-canary mesh"]],
  ["of a file beside a cluster", { meshConfigFile: there }, true, [there]],
  ["of a cluster where the file is missing", { meshConfigFile: missing }, true, ["mesh/istio mesh"]],
  ["shared, below those of the cluster", { sharedMeshConfig: "all" }, true, ["mesh/all mesh", "mesh/istio mesh"]],
  ["shared, below a file", { sharedMeshConfig: "all", meshConfigFile: there }, true, ["mesh/all mesh", there]],
];

describe("places of MeshConfig", () => {
  for (const [name, given, hasCluster, places] of cases)
    it(name, () => {
      const found = meshConfigPlaces({ ...none, ...given }, hasCluster);
      assert.deepEqual(
        found.map((one) => (one.type === "file" ? one.path : `${one.namespace}/${one.name} ${one.key}`)),
        places,
      );
    });
});

it("MeshNetworks lie beside it under a key of their own, and are not shared", () => {
  const config = { ...none, revision: "canary", sharedMeshConfig: "all" };
  assert.deepEqual(meshNetworksPlaces(config, true), [
    { type: "config map", namespace: "mesh", name: "istio-canary", key: "meshNetworks" },
  ]);
  assert.deepEqual(meshNetworksPlaces({ ...config, meshNetworksFile: there }, true), [{ type: "file", path: there }]);
});
