import assert from "node:assert/strict";
import { test } from "node:test";
import { query } from "../../snapshot/view.ts";
import { aMesh, aSidecar } from "../../testing/mesh.ts";
import { textFactory } from "./hbone.ts";

test("Envoys of Istio from 1.29.2 on take texts of Istio's own kind", () => {
  const core = aMesh();
  const factory = query<string>("text-factory", textFactory);
  const of = (version: string) => core.read(factory, core.subjectOf(aSidecar("shop", { ISTIO_VERSION: version })));
  assert.deepEqual(["1.28.5", "1.29.1", "1.29.2", "1.30.0", "1.32.0", "dev"].map(of), [
    "envoy.string",
    "envoy.string",
    "istio.hashable_string",
    "istio.hashable_string",
    "istio.hashable_string",
    "istio.hashable_string",
  ]);
});
