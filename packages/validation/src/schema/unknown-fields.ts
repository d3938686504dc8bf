/** Fields that the schema does not have: the API server drops them, and whoever wrote them meant something by them. */
import { childPath, fieldSchema, isObject, type Schema } from "./schema.ts";

/** Paths of all unknown fields. */
export function unknownFields(schema: Schema, value: unknown, path = ""): readonly string[] {
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
export function withoutNulls(schema: Schema, value: unknown): unknown {
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
