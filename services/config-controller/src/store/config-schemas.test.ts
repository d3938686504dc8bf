/** Kinds that stores can hold: all that are configuration, those of the core included. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { configSchemas } from "./config-schemas.ts";

it("the schemas of stores are the kinds of configuration", () => {
  const names = new Set(configSchemas.map(({ name }) => name));
  for (const name of ["VirtualService", "AuthorizationPolicy", "KubernetesGateway", "HTTPRoute", "Secret", "ConfigMap"])
    assert.ok(names.has(name), name);
  for (const name of ["Pod", "Service", "Node"]) assert.equal(names.has(name), false, name);
  assert.equal(names.size, configSchemas.length);
});
