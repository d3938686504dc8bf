/** Bounds of routes' fields, as editors get them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { routeSchemas } from "./route-schemas.ts";

/** The schema of a field: a name goes into an object, and `[]` into the items of a list. */
function at(kind: string, path: string): unknown {
  const words = path.split(/\.|(?=\[\])/);
  return words.reduce<unknown>((schema, word) => {
    const { properties, items } = schema as { readonly properties?: Record<string, unknown>; readonly items?: unknown };
    return word === "[]" ? items : properties?.[word];
  }, routeSchemas[kind]);
}

describe("fields of routes", () => {
  const name = { type: "string", maxLength: 256, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$", minLength: 1 };
  const rule = "spec.rules[]";
  const cases: readonly (readonly [kind: string, path: string, schema: object])[] = [
    ["HTTPRoute", `${rule}.backendRefs[].weight`, { type: "integer", minimum: 0, maximum: 1_000_000 }],
    ["HTTPRoute", `${rule}.backendRefs[].kind`, { type: "string", maxLength: 63, minLength: 1 }],
    ["HTTPRoute", `${rule}.retry.attempts`, { type: "integer", minimum: 1 }],
    ["HTTPRoute", `${rule}.retry.codes[]`, { type: "integer", minimum: 400, maximum: 599 }],
    ["HTTPRoute", `${rule}.matches[].headers[].name`, name],
    ["HTTPRoute", `${rule}.matches[].path.value`, { type: "string", maxLength: 1024 }],
    ["HTTPRoute", `${rule}.matches[].queryParams[].value`, { type: "string", maxLength: 1024, minLength: 1 }],
    ["HTTPRoute", `${rule}.sessionPersistence.sessionName`, { type: "string", maxLength: 128 }],
    ["HTTPRoute", `${rule}.filters[].requestMirror.fraction.numerator`, { type: "integer", minimum: 0 }],
    ["GRPCRoute", `${rule}.matches[].method.service`, { type: "string", maxLength: 1024 }],
  ];
  for (const [kind, path, schema] of cases) it(`${path} of ${kind}`, () => assert.deepEqual(at(kind, path), schema));

  it("lists have their bounds", () => {
    const bounds = (kind: string, path: string) => {
      const { minItems, maxItems } = at(kind, path) as { readonly minItems?: number; readonly maxItems?: number };
      return [minItems, maxItems];
    };
    assert.deepEqual(bounds("TCPRoute", "spec.rules"), [1, 1]);
    assert.deepEqual(bounds("TCPRoute", `${rule}.backendRefs`), [1, 16]);
    assert.deepEqual(bounds("HTTPRoute", "spec.rules"), [1, 16]);
    assert.deepEqual(bounds("HTTPRoute", `${rule}.matches`), [undefined, 64]);
    assert.deepEqual(bounds("TLSRoute", "spec.hostnames"), [1, 1024]);
  });
});
