/** MeshConfig as analyzers read it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Mesh } from "../analyzer.ts";
import { meshConfig, rootNamespace } from "./settings.ts";

const meshOf = (...specs: readonly object[]) =>
  ({ all: () => specs.map((value) => ({ spec: { value, path: "spec" } })) }) as unknown as Mesh;

describe("settings of a mesh", () => {
  for (const { name, mesh, is } of [
    { name: "the default without a MeshConfig", mesh: meshOf(), is: "istio-system" },
    { name: "the default where it is empty", mesh: meshOf({ rootNamespace: "" }), is: "istio-system" },
    { name: "that of the MeshConfig", mesh: meshOf({ rootNamespace: "mesh" }), is: "mesh" },
    { name: "that of the last of several", mesh: meshOf({ rootNamespace: "a" }, { rootNamespace: "b" }), is: "b" },
  ])
    it(`have as root namespace ${name}`, () => assert.equal(rootNamespace(mesh), is));
  it("are the defaults where the mesh has none", () => {
    assert.ok(Object.hasOwn(meshConfig(meshOf()).value as object, "rootNamespace"));
  });
});
