import assert from "node:assert/strict";
import { test } from "node:test";
import { drawLayers, folderCycles, type Module } from "./layers-drawing.ts";

const file = (source: string, ...imports: readonly string[]): Module => ({
  source,
  dependencies: imports.map((resolved) => ({ resolved })),
});
const generate = "services/xds-server/src/generate";

test("arrows that follow from others are left out, and tests are not drawn", () => {
  const drawn = drawLayers([
    file("packages/a/src/index.ts", "packages/b/src/index.ts", "packages/c/src/index.ts"),
    file("packages/b/src/index.ts", "packages/c/src/index.ts"),
    file("packages/c/src/c.test.ts", "packages/a/src/index.ts"),
    file(`${generate}/sidecar/clusters.ts`, `${generate}/envoy/stat-name.ts`),
  ]);
  assert.match(drawn, /"packages\/a"\] --> packages_b/);
  assert.match(drawn, /"packages\/b"\] --> packages_c/);
  assert.doesNotMatch(drawn, /"packages\/a"\] --> packages_c/);
  assert.doesNotMatch(drawn, /"packages\/c"\] -->/);
  assert.match(drawn, /"generate\/sidecar"\] --> generate_envoy/);
});

test("folders that need each other are found through others, too", () => {
  const inRow = [
    file("packages/a/src/x.ts", "packages/b/src/x.ts"),
    file("packages/b/src/x.ts", "packages/c/src/x.ts"),
    file("packages/c/src/x.ts"),
  ];
  assert.deepEqual(folderCycles(inRow), []);
  const cyclic = [...inRow, file("packages/c/src/y.ts", "packages/a/src/y.ts")];
  assert.deepEqual(folderCycles(cyclic), ["packages/a", "packages/b", "packages/c"]);
});
