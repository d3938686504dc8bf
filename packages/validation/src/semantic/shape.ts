/** Whether plain data has the form that its readers count on, for kinds whose schema is not at hand. */
import { ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { isObject } from "../schema/schema.ts";
import { refuse } from "./path.ts";

/** Fields that are not named may be anything. Every field may be absent or null. */
export type Shape = "text" | "integer" | "boolean" | { readonly list: Shape } | { readonly fields: Fields };
export type Fields = Readonly<Record<string, Shape>>;

export function shapeProblems(value: unknown, shape: Shape, path: string): readonly Problem[] {
  if (value === undefined || value === null) return [];
  if (shape === "text") return typeof value === "string" ? [] : [refuse(path, "must be a string")];
  if (shape === "integer") return Number.isInteger(value) ? [] : [refuse(path, "must be an integer")];
  if (shape === "boolean") return typeof value === "boolean" ? [] : [refuse(path, "must be true or false")];
  if ("list" in shape) {
    if (!Array.isArray(value)) return [refuse(path, "must be a list")];
    return value.flatMap((one, index) =>
      one === null
        ? [refuse(`${path}[${index}]`, "must not be null")]
        : shapeProblems(one, shape.list, `${path}[${index}]`),
    );
  }
  if (!isObject(value)) return [refuse(path, "must be an object")];
  return Object.entries(shape.fields).flatMap(([name, inner]) =>
    shapeProblems(ownValue(value, name), inner, `${path}.${name}`),
  );
}
