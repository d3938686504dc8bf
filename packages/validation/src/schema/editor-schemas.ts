/** JSON schemas of all kinds for editors, which complete fields by them and mark mistakes while they are written. */

import { apiVersionOf, isIstioKind, type Kind, kinds } from "@flotilla/kinds";
import { ownValue } from "@flotilla/model";
import schemas from "../gen/schemas.json" with { type: "json" };
import { fieldNotes } from "./field-notes.ts";
import { gatewayApiSchemas } from "./gateway-api-schemas.ts";
import { routeSchemas } from "./route-schemas.ts";
import type { JsonObject, KindSchemas, Schema } from "./schema.ts";

const schemasByKind = schemas as unknown as Readonly<Record<string, KindSchemas>>;
const dialect = "http://json-schema.org/draft-07/schema#";

/**
 * By the kind's unambiguous name: `VirtualService`, `KubernetesGateway`. Rules that JSON schema has no words for stand in descriptions. Istio's kinds,
 * those of the Gateway API, and Ingress.
 */
export function editorSchemas(): ReadonlyMap<string, JsonObject> {
  const found = kinds.flatMap((kind): readonly (readonly [string, JsonObject])[] => {
    const open = ownValue(gatewayApiSchemas, kind.name) ?? ownValue(routeSchemas, kind.name);
    const apiVersions = kind.versions.map((one) => `${kind.group}/${one}`);
    if (open !== undefined) return [[kind.name, kindSchema(kind, open, apiVersions)]];
    if (!isIstioKind(kind)) return [];
    const entry = ownValue(schemasByKind, kind.name);
    const versions = Object.keys(entry?.versions ?? {});
    const index = ownValue(entry?.versions, versions.at(-1) ?? "");
    const schema = index === undefined ? undefined : entry?.schemas[index];
    if (schema === undefined) return [];
    const served = versions.map((one) => `${kind.group}/${one}`);
    return [[kind.name, kindSchema(kind, schema, [apiVersionOf(kind), ...served])]];
  });
  return new Map(found);
}

function kindSchema({ kind, name }: Kind, schema: Schema, apiVersions: readonly string[]): JsonObject {
  const { properties = {}, ...rest } = editorSchema(schema, name, "") as { readonly properties?: JsonObject };
  return {
    $schema: dialect,
    title: kind,
    ...rest,
    type: "object",
    required: ["apiVersion", "kind", "metadata"],
    properties: {
      apiVersion: { enum: [...new Set(apiVersions)] },
      kind: { const: kind },
      metadata: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string", maxLength: 253 }, namespace: { type: "string", maxLength: 63 } },
      },
      ...properties,
    },
  };
}

/** Words of OpenAPI that JSON schema spells the same. */
const same = [
  ...["type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf", "required", "default"],
  ...["minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"],
] as const;

/** A schema of OpenAPI as JSON schema; `path` is the field's, without indexes: `spec.http.route`. */
function editorSchema(schema: Schema, kind: string, path: string): JsonObject {
  const { properties, items, additionalProperties, nullable } = schema;
  const description = describe(schema, kind, path);
  const child = (part: Schema, name: string) => editorSchema(part, kind, path === "" ? name : `${path}.${name}`);
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true || properties === undefined;
  return {
    ...Object.fromEntries(same.flatMap((word) => (schema[word] === undefined ? [] : [[word, schema[word]]]))),
    ...(nullable === true && schema.type !== undefined ? { type: [schema.type, "null"] } : {}),
    ...(schema["x-kubernetes-int-or-string"] === true ? { type: ["integer", "string"] } : {}),
    ...(description === "" ? {} : { description }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, child(part, name)])),
        }),
    ...(items === undefined ? {} : { items: editorSchema(items, kind, path) }),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: editorSchema(additionalProperties, kind, path) }
      : isOpen || path === ""
        ? {}
        : { additionalProperties: false }),
    ...combined(schema, kind, path),
  };
}

/** Branches state conditions only: in them an unnamed field is no mistake. */
function combined(schema: Schema, kind: string, path: string): JsonObject {
  const branch = (part: Schema): JsonObject => {
    const { additionalProperties: _, ...rest } = editorSchema(part, kind, path);
    return rest;
  };
  const lists = (["allOf", "anyOf", "oneOf"] as const).flatMap((word) => {
    const parts = schema[word];
    return parts === undefined ? [] : [[word, parts.map(branch)] as const];
  });
  return { ...Object.fromEntries(lists), ...(schema.not === undefined ? {} : { not: branch(schema.not) }) };
}

/** Describes a field by the API server's rules and our own. */
function describe(schema: Schema, kind: string, path: string): string {
  const rules = (schema["x-kubernetes-validations"] ?? []).map(({ message, rule }) => message ?? rule);
  const notes = fieldNotes.get(`${kind}.${path}`) ?? [];
  return [...rules, ...notes].map((text) => `${text.replace(/\.$/, "")}.`).join(" ");
}
