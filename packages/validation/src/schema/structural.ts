/**
 * Validates a value against a structural schema, with the meaning and the words of the Kubernetes API server, so that a search for a
 * message finds the texts of others about it. CEL rules and list types are checked apart.
 */
import { isObject } from "@flotilla/model";
import { RE2JS } from "re2js";
import { formatProblem } from "./formats.ts";
import { childPath, fieldSchema, type JsonObject, type Schema } from "./schema.ts";

/** `field` and the API server's text for it. */
export interface Finding {
  readonly field: string;
  readonly reason: string;
}

export function validateStructure(schema: Schema, value: unknown, path = ""): readonly Finding[] {
  if (value === null || value === undefined) return schema.nullable === true ? [] : typeFindings(schema, null, path);
  const wrongType = typeFindings(schema, value, path);
  // A value of another type would only repeat the same mistake in other words.
  if (wrongType.length > 0) return wrongType;
  return [
    ...combinedFindings(schema, value, path),
    ...(typeof value === "string" ? stringFindings(schema, value, path) : []),
    ...(typeof value === "number" ? numberFindings(schema, value, path) : []),
    ...(Array.isArray(value) ? arrayFindings(schema, value, path) : []),
    ...enumFindings(schema, value, path),
    ...(isObject(value) ? objectFindings(schema, value, path) : []),
  ];
}

function typeFindings(schema: Schema, value: unknown, path: string): readonly Finding[] {
  const found = jsonType(value);
  if (schema["x-kubernetes-int-or-string"] === true) {
    return found === "integer" || found === "string" ? [] : [typeFinding(path, "integer,string", found)];
  }
  const { type, format } = schema;
  if (type === undefined || type === found || (type === "number" && found === "integer")) return [];
  // The API server names the format of a field, where it has one, and what the value is to Go: nothing for an object.
  const goFormat = goFormats[found];
  return [
    format === undefined || goFormat === undefined
      ? typeFinding(path, type, found)
      : typeFinding(path, format, goFormat),
  ];
}

const goFormats: Readonly<Partial<Record<JsonType, string>>> = {
  number: "float64",
  integer: "int64",
  boolean: "",
  object: "",
};

type JsonType = "null" | "array" | "integer" | "number" | "string" | "boolean" | "object";

function typeFinding(path: string, wanted: string, found: string): Finding {
  return {
    field: path,
    reason: `Invalid value: "${found}": ${path} in body must be of type ${wanted}: "${found}"`,
  };
}

function jsonType(value: unknown): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as JsonType;
}

/** `allOf`, `anyOf`, `oneOf` and `not`; the findings of a branch that was not taken are of no use to a reader. */
function combinedFindings(schema: Schema, value: unknown, path: string): readonly Finding[] {
  const { allOf = [], anyOf, oneOf, not } = schema;
  const findings = allOf.flatMap((branch) => validateStructure(branch, value, path));
  const fits = (branch: Schema): boolean => validateStructure(branch, value, path).length === 0;
  if (anyOf !== undefined && !anyOf.some(fits))
    findings.push(bodyFinding(path, value, "must validate at least one schema (anyOf)"));
  if (oneOf !== undefined) {
    const count = oneOf.filter(fits).length;
    const found = count === 0 ? "Found none valid" : `Found ${count} valid alternatives`;
    if (count !== 1) findings.push(bodyFinding(path, value, `must validate one and only one schema (oneOf). ${found}`));
  }
  if (not !== undefined && fits(not)) findings.push(bodyFinding(path, value, "must not validate the schema (not)"));
  return findings;
}

/** Compiled once: schemas have few. */
const compiled = new Map<string, RE2JS>();

/** By the engine that the API server has, in time linear in the text. */
function matchesPattern(pattern: string, value: string): boolean {
  const expression = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.set(pattern, expression);
  return expression.matcher(value).find();
}

/** As the API server has it, the first mistake of a text hides its others. */
function stringFindings(schema: Schema, value: string, path: string): readonly Finding[] {
  const { minLength, maxLength, pattern, format } = schema;
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length;
  if (maxLength !== undefined && length > maxLength) {
    return [{ field: path, reason: `Too long: may not be more than ${maxLength} bytes` }];
  }
  if (minLength !== undefined && length < minLength) {
    return [bodyFinding(path, value, `should be at least ${minLength} chars long`)];
  }
  if (pattern !== undefined && !matchesPattern(pattern, value)) {
    return [bodyFinding(path, value, `should match '${pattern}'`)];
  }
  const wrongFormat = format === undefined ? undefined : formatProblem(format, value);
  return wrongFormat === undefined ? [] : [bodyFinding(path, value, wrongFormat)];
}

function numberFindings(schema: Schema, value: number, path: string): readonly Finding[] {
  const { minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false, multipleOf, format } = schema;
  const findings: Finding[] = [];
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    const what = exclusiveMaximum ? "less than" : "less than or equal to";
    findings.push(bodyFinding(path, value, `should be ${what} ${maximum}`));
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    const what = exclusiveMinimum ? "greater than" : "greater than or equal to";
    findings.push(bodyFinding(path, value, `should be ${what} ${minimum}`));
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    findings.push(bodyFinding(path, value, `should be a multiple of ${multipleOf}`));
  }
  const wrongFormat = format === undefined ? undefined : formatProblem(format, value);
  if (wrongFormat !== undefined) findings.push(bodyFinding(path, value, wrongFormat));
  return findings;
}

function arrayFindings(schema: Schema, value: readonly unknown[], path: string): readonly Finding[] {
  const { items, minItems, maxItems, uniqueItems } = schema;
  const findings =
    items === undefined ? [] : value.flatMap((item, index) => validateStructure(items, item, `${path}[${index}]`));
  if (minItems !== undefined && value.length < minItems) {
    findings.push(bodyFinding(path, value.length, `should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && value.length > maxItems) {
    findings.push({ field: path, reason: `Too many: ${value.length}: must have at most ${maxItems} items` });
  }
  if (uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
    findings.push(bodyFinding(path, value, "shouldn't contain duplicates"));
  }
  return findings;
}

function enumFindings({ enum: allowed }: Schema, value: unknown, path: string): readonly Finding[] {
  if (allowed === undefined || allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))) return [];
  const supported = allowed.map((one) => JSON.stringify(one)).join(", ");
  return [{ field: path, reason: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}` }];
}

function objectFindings(schema: Schema, value: JsonObject, path: string): readonly Finding[] {
  const { required = [], minProperties, maxProperties } = schema;
  const findings: Finding[] = [];
  for (const [name, part] of Object.entries(value)) {
    const own = fieldSchema(schema, name);
    if (own !== undefined && part !== undefined) findings.push(...validateStructure(own, part, childPath(path, name)));
  }
  for (const name of required) {
    if (!Object.hasOwn(value, name)) findings.push({ field: childPath(path, name), reason: "Required value" });
  }
  const count = Object.keys(value).length;
  if (minProperties !== undefined && count < minProperties) {
    findings.push(bodyFinding(path, value, `should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && count > maxProperties) {
    findings.push({ field: path, reason: `Too many: ${count}: must have at most ${maxProperties} items` });
  }
  return findings;
}

function bodyFinding(path: string, value: unknown, what: string): Finding {
  return { field: path, reason: `Invalid value: ${JSON.stringify(value)}: ${path} in body ${what}` };
}
