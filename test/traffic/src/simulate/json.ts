/** Reading configuration in its JSON form without knowing its types. */
import type { JsonObject, JsonValue } from "@flotilla/proto";

/** The value under a path of keys, if it is there. */
export function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return undefined;
    found = found[key];
  }
  return found;
}

export function objectsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonObject[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly JsonObject[]) : [];
}

export function textsAt(value: JsonValue | undefined, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.map(String) : [];
}

export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}
