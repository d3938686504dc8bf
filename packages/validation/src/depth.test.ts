import assert from "node:assert/strict";
import { it } from "node:test";
import { createValidator } from "./validate-object.ts";

it("refuses an object nested 10,000 levels deep, and ends", () => {
  let value: object = { end: true };
  for (let i = 0; i < 10_000; i++) value = { a: value };
  const configPatches = [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value } }] as never;
  const filter = {
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: {},
    spec: { configPatches },
  };
  const problems = createValidator()(filter);
  assert.deepEqual(problems, [{ field: "", reason: "is nested deeper than 200 levels", severity: "error" }]);
});
