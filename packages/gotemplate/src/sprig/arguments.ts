/** Arguments of functions as the types they are declared with; zero values stand for every type's own. */
import { fail } from "../builtins.ts";
import { formatValue, isMap, isNothing, type MapLike, typeName } from "../values.ts";

export function text(value: unknown): string {
  if (typeof value === "string") return value;
  return isNothing(value) ? "" : fail(`wrong type for value; expected string; got ${typeName(value)}`);
}

/** Any value as a text, nil as the empty one. */
export function anyText(value: unknown): string {
  return isNothing(value) ? "" : formatValue(value);
}

export function integer(value: unknown): number {
  return Math.trunc(number(value));
}

/** Texts are read as numbers, others count as 0, as in sprig's conversions. */
export function number(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : 0;
  return Number.isNaN(parsed) ? 0 : parsed;
}

export function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return isNothing(value) ? [] : fail(`wrong type for value; expected list; got ${typeName(value)}`);
}

export function map(value: unknown): MapLike {
  if (isMap(value)) return value;
  return isNothing(value) ? {} : fail(`wrong type for value; expected map; got ${typeName(value)}`);
}

/** Deep equality by printed JSON: templates compare plain data only. */
export function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
