/** An object against the schema of its kind and version: structure, unknown fields, list types, CEL rules. */

import { kindOf } from "@flotilla/kinds";
import { isObject, ownValue } from "@flotilla/model";
import schemas from "../gen/schemas.json" with { type: "json" };
import type { Problem } from "../problem.ts";
import { CelRules } from "./cel-rules.ts";
import { gatewayApiSchemas } from "./gateway-api-schemas.ts";
import { validateListTypes } from "./list-types.ts";
import { childPath, fieldSchema, type JsonObject, type KindSchemas, type Schema } from "./schema.ts";
import { type Finding, validateStructure } from "./structural.ts";

/** How unknown fields are treated. */
export interface SchemaOptions {
  /** The API server's three answers to a field that the schema lacks; `Strict` refuses it. */
  readonly unknownFields?: "Strict" | "Warn" | "Ignore";
  /** False: a null is judged as a value, and not as an absent field. */
  readonly dropNulls?: boolean;
}

/** Checks objects of Istio's kinds, of the Gateway API's beside routes, and Ingresses; those of other kinds have no schema here and pass. */
export type SchemaValidator = (object: JsonObject, options?: SchemaOptions) => readonly Problem[];

const schemasByKind = schemas as unknown as Readonly<Record<string, KindSchemas>>;

/** The validator keeps compiled rules: one for the life of a process is right. */
export function createSchemaValidator(): SchemaValidator {
  const rules = new CelRules();
  return (object, options = {}) => {
    const found = schemaOf(object);
    if (found === undefined) return [];
    if ("reason" in found) return [{ field: "apiVersion", reason: found.reason, severity: "error" }];
    return validate(found.schema, object, found.isOpen === true ? { ...options, ...openOptions } : options, rules);
  };
}

/** The cluster's definition of a kind that is not Istio's may be newer than this schema: a field that is not here has no effect. */
const openOptions: SchemaOptions = { unknownFields: "Warn" };

type FoundSchema = { readonly schema: Schema; readonly isOpen?: boolean } | { readonly reason: string };

function schemaOf({ apiVersion, kind }: JsonObject): FoundSchema | undefined {
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  const row = kindOf({ apiVersion, kind });
  const open = row && ownValue(gatewayApiSchemas, row.name);
  if (open !== undefined) return { schema: open, isOpen: true };
  // own key: one of our kinds
  const entry = row === undefined ? undefined : schemasByKind[row.name];
  if (entry === undefined) return undefined;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  const index = Object.hasOwn(entry.versions, version) ? entry.versions[version] : undefined;
  const schema = index === undefined ? undefined : entry.schemas[index];
  if (schema !== undefined) return { schema };
  const served = Object.keys(entry.versions).join(", ");
  return { reason: `Unsupported value: ${JSON.stringify(version)}: ${kind} is served as ${served}` };
}

function validate(schema: Schema, object: JsonObject, options: SchemaOptions, rules: CelRules): readonly Problem[] {
  const { unknownFields: unknown = "Strict", dropNulls = true } = options;
  // The schema does not define these: every kind has them.
  const { apiVersion: _, kind: __, metadata: ___, ...own } = object;
  const strays = unknown === "Ignore" ? [] : unknownFields(schema, own);
  const value = dropNulls ? withoutNulls(schema, own) : own;
  const structure = [...validateStructure(schema, value), ...validateListTypes(schema, value)];
  // Rules may count on the structure, so a wrong one ends the examination.
  const findings = structure.length > 0 || !isObject(value) ? structure : rules.validate(schema, value);
  return [
    ...strays.map((field) => stray(field, unknown === "Strict" ? "error" : "warning")),
    ...sorted(findings).map((finding): Problem => ({ ...finding, severity: "error" })),
  ];
}

function stray(field: string, severity: Problem["severity"]): Problem {
  return { field, reason: "unknown field", severity };
}

/** By field; schemas that repeat a demand in several branches find the same twice. */
function sorted(findings: readonly Finding[]): readonly Finding[] {
  const once = new Map(findings.map((finding) => [`${finding.field}: ${finding.reason}`, finding]));
  return [...once.values()].sort((a, b) => (a.field < b.field ? -1 : a.field > b.field ? 1 : 0));
}

/**
 * Fields that the schema does not have: the API server drops them, although their author meant something by them. Paths of all unknown
 * fields.
 */
function unknownFields(schema: Schema, value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.flatMap((item, index) => unknownFields(items, item, `${path}[${index}]`));
  }
  if (!isObject(value) || schema.additionalProperties === true) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const own = fieldSchema(schema, name);
    if (own !== undefined) return unknownFields(own, part, childPath(path, name));
    const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true || schema.properties === undefined;
    return isOpen ? [] : [childPath(path, name)];
  });
}

/** Nulls of fields that may not be null mean that the field is absent, as the API server has it. */
function withoutNulls(schema: Schema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => withoutNulls(items, item));
  }
  if (!isObject(value)) return value;
  const parts = Object.entries(value).flatMap(([name, part]): readonly (readonly [string, unknown])[] => {
    const own = fieldSchema(schema, name);
    if (own === undefined) return [[name, part]];
    return part === null && own.nullable !== true ? [] : [[name, withoutNulls(own, part)]];
  });
  return Object.fromEntries(parts);
}
