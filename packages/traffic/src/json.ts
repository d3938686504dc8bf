/** Reads configuration in its JSON form without knowing its types. */
import { ownValue } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";

/** The value under a path of keys, if it is there. */
export function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return undefined;
    found = ownValue(found, key);
  }
  return found;
}

/** The list under a path of keys; empty where there is none. */
export function objectsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly JsonObject[]) : [];
}

/** The same of texts and numbers. */
export function textsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.map(String) : [];
}

/** A text or number under a path of keys; empty where there is none. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}
