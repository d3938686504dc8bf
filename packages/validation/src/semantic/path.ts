/** Walking objects of unknown shape: what is not there, or not what is expected, is skipped. */
import { ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { isObject, type JsonObject } from "../schema/schema.ts";

/** The objects of a list, each with its path. */
export function each(
  parent: JsonObject,
  name: string,
  path: string,
): readonly (readonly [value: JsonObject, path: string])[] {
  return listOf(ownValue(parent, name)).flatMap((value, index) =>
    isObject(value) ? [[value, `${path}.${name}[${index}]`] as const] : [],
  );
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a list, each with its path. */
export function eachText(
  parent: JsonObject,
  name: string,
  path: string,
): readonly (readonly [text: string, path: string])[] {
  return listOf(ownValue(parent, name)).flatMap((value, index) =>
    typeof value === "string" ? [[value, `${path}.${name}[${index}]`] as const] : [],
  );
}

export function refuse(field: string, reason: string): Problem {
  return { field, reason, severity: "error" };
}
