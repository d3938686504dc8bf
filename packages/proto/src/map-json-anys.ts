/**
 * Rewrites every Any in the JSON form of a message, at every depth. The descriptor leads: plain data,
 * as in a Struct, may look like an Any and is left alone.
 */
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { canHoldAny } from "./map-anys.ts";
import { registry } from "./registry.ts";
import { typeNameOf } from "./type-url.ts";

/** `change` sees an Any before its content and returns its replacement, if any; the very same value comes back when nothing was replaced. */
export function mapJsonAnys(
  desc: DescMessage,
  json: JsonValue,
  change: (any: JsonObject) => JsonObject | undefined,
): JsonValue {
  if (!isJsonObject(json) || !canHoldAny(desc)) return json;
  if (desc.typeName !== "google.protobuf.Any") return mapFields(desc, json, change);
  const changed = change(json);
  if (changed !== undefined) return changed;
  const inner = registry.getMessage(typeNameOf(String(json["@type"] ?? "")));
  if (inner === undefined) return json;
  // Only an Any within an Any has its content in `value`; other messages have their fields beside @type.
  if (inner.typeName === desc.typeName) {
    return mapEntries(json, (key, item) => (key === "value" ? mapJsonAnys(inner, item, change) : item));
  }
  return canHoldAny(inner) ? mapFields(inner, json, change) : json;
}

function mapFields(desc: DescMessage, json: JsonObject, change: Parameters<typeof mapJsonAnys>[2]): JsonValue {
  const fields = fieldsByName(desc);
  return mapEntries(json, (key, value) => {
    const field = fields.get(key);
    if (field?.message === undefined) return value;
    const { message } = field;
    const map = (item: JsonValue) => mapJsonAnys(message, item, change);
    if (field.fieldKind === "list") return Array.isArray(value) ? mapItems(value, map) : value;
    if (field.fieldKind === "map") return isJsonObject(value) ? mapEntries(value, (_, item) => map(item)) : value;
    return map(value);
  });
}

function mapItems(items: readonly JsonValue[], map: (item: JsonValue) => JsonValue): JsonValue {
  const mapped = items.map(map);
  return mapped.some((item, i) => item !== items[i]) ? mapped : (items as JsonValue);
}

function mapEntries(json: JsonObject, map: (key: string, value: JsonValue) => JsonValue): JsonObject {
  const entries = Object.entries(json).map(([key, value]) => [key, map(key, value)] as const);
  // own key: of the object
  return entries.some(([key, value]) => value !== json[key]) ? Object.fromEntries(entries) : json;
}

const namesOf = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** Fields that may lead to an Any, by both names that JSON may use. */
function fieldsByName(desc: DescMessage): ReadonlyMap<string, DescField> {
  const known = namesOf.get(desc);
  if (known !== undefined) return known;
  const fields = desc.fields.filter(({ message }) => message !== undefined && canHoldAny(message));
  const byName = new Map(fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field] as const)));
  namesOf.set(desc, byName);
  return byName;
}

/** True where JSON is an object: neither null nor a list nor a scalar. */
export function isJsonObject(json: JsonValue | readonly JsonObject[] | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
