/** Envoy's types for the values of EnvoyFilters: there once they are loaded, and loaded once. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { EnvoyValues } from "./envoy-values.ts";

it("values of EnvoyFilters are checked once Envoy's types are loaded, which they are once", async () => {
  const values = new EnvoyValues({ ...noopLogger, error: (text) => assert.fail(text) });
  const problem = (value: unknown) => values.check?.("CLUSTER", value);
  assert.equal(typeof values.check, "undefined");
  const loading = values.load();
  assert.equal(values.load(), loading);
  assert.equal(typeof values.check, "undefined");
  await loading;
  assert.equal(problem({ connect_timeout: "1s" }), undefined);
  assert.equal(problem({ connect_timeout: true })?.isFault, true);
});
