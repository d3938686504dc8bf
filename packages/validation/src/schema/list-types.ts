/** Lists that are sets or maps: no item, or no combination of key fields, twice. */

import { isObject } from "@flotilla/model";
import { childPath, fieldSchema, type Schema } from "./schema.ts";
import type { Finding } from "./structural.ts";

export function validateListTypes(schema: Schema, value: unknown, path = ""): readonly Finding[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    const inner =
      items === undefined ? [] : value.flatMap((item, index) => validateListTypes(items, item, `${path}[${index}]`));
    return [...duplicates(schema, value, path), ...inner];
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => {
    const own = fieldSchema(schema, name);
    return own === undefined ? [] : validateListTypes(own, part, childPath(path, name));
  });
}

function duplicates(schema: Schema, items: readonly unknown[], path: string): readonly Finding[] {
  const kind = schema["x-kubernetes-list-type"];
  if (kind !== "set" && kind !== "map") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const identity = JSON.stringify(kind === "set" ? item : identify(item, keys));
    if (!seen.has(identity)) {
      seen.add(identity);
      return [];
    }
    return [{ field: `${path}[${index}]`, reason: `Duplicate value: ${identity}` }];
  });
}

/** Only the key fields that are there: two items without a key are the same. */
function identify(item: unknown, keys: readonly string[]): unknown {
  if (!isObject(item)) return item;
  const wanted = new Set(keys);
  return Object.fromEntries(Object.entries(item).filter(([key, value]) => wanted.has(key) && value !== undefined));
}
