import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isObject } from "@flotilla/model";
import { editorSchemas } from "./editor-schemas.ts";
import { fieldNotes } from "./field-notes.ts";

const schemas = editorSchemas();

/** The schema of a field, through lists and maps. */
function schemaAt(kind: string, path: string): unknown {
  let at: unknown = schemas.get(kind);
  for (const name of path.split(".")) {
    while (isObject(at) && isObject(at["items"])) at = at["items"];
    const members = isObject(at) && isObject(at["additionalProperties"]) ? at["additionalProperties"] : at;
    at = isObject(members) && isObject(members["properties"]) ? members["properties"][name] : undefined;
  }
  return at;
}

describe("editorSchemas", () => {
  it("has every kind that is validated by a schema, with its versions", () => {
    assert.equal(schemas.size, 15 + 8 + 5);
    assert.deepEqual(schemaAt("KubernetesGateway", "kind"), { const: "Gateway" });
    const apiVersions = schemaAt("VirtualService", "apiVersion") as { readonly enum: readonly string[] };
    assert.deepEqual(
      [...apiVersions.enum].sort(),
      ["v1", "v1alpha3", "v1beta1"].map((one) => `networking.istio.io/${one}`),
    );
    assert.deepEqual(schemaAt("VirtualService", "kind"), { const: "VirtualService" });
  });

  it("knows no other fields than those of the kind", () => {
    const spec = schemaAt("VirtualService", "spec") as {
      readonly additionalProperties: unknown;
      readonly properties: object;
    };
    assert.equal(spec.additionalProperties, false);
    assert.ok("http" in spec.properties);
  });

  it("takes null for nullable fields alone", () => {
    const typeAt = (kind: string, path: string) => (schemaAt(kind, path) as { readonly type?: unknown }).type;
    assert.equal(typeAt("VirtualService", "spec"), "object");
    assert.equal(typeAt("VirtualService", "spec.http"), "array");
  });

  it("has nothing of Kubernetes' own words", () => {
    assert.doesNotMatch(JSON.stringify([...schemas.values()]), /x-kubernetes|nullable/);
  });

  for (const [place, notes] of fieldNotes)
    it(`describes ${place}`, () => {
      const [kind = "", ...path] = place.split(".");
      const { description } = (schemaAt(kind, path.join(".")) ?? {}) as { readonly description?: string };
      for (const note of notes) assert.ok(description?.includes(note), `${place}: ${description}`);
    });
});
