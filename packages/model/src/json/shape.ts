/**
 * Shapes of JSON that comes from another process: one check where it enters, so that nothing behind it meets a value of another type.
 * Fields that a shape does not name are left alone: a newer version of the sender may add some.
 */
import { isObject, ownValue } from "./own-value.ts";

/** Describes the problem with a value, beginning with the field; undefined when it has the shape. */
export type Shape = (value: unknown) => string | undefined;

/** Specs of protobuf messages have 100 levels at most. */
const maxDepth = 100;

export const text: Shape = (value) => (typeof value === "string" ? undefined : " is no text");
export const flag: Shape = (value) => (typeof value === "boolean" ? undefined : " is neither true nor false");
/** JSON has no NaN and no infinity. */
export const number: Shape = (value) => (Number.isFinite(value) ? undefined : " is no number");
export const integer: Shape = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : " is no natural number";

/** Any JSON of a bounded depth: code that walks through it does not run out of stack. */
export const anything: Shape = (value) => (isDeeper(value, maxDepth) ? ` has more than ${maxDepth} levels` : undefined);

/** Any object of a bounded depth. */
export const anyObject: Shape = (value) => (isObject(value) ? anything(value) : " is no object");

export function oneOfTexts(...texts: readonly string[]): Shape {
  return (value) =>
    typeof value === "string" && texts.includes(value) ? undefined : ` is none of ${texts.join(", ")}`;
}

export function listOf(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return " is no list";
    for (const [at, item] of value.entries()) {
      const problem = shape(item);
      if (problem !== undefined) return `[${at}]${problem}`;
    }
    return undefined;
  };
}

export function recordOf(shape: Shape): Shape {
  return (value) => {
    if (!isObject(value)) return " is no object";
    for (const key of Object.keys(value)) {
      const problem = shape(value[key]);
      if (problem !== undefined) return `.${key.slice(0, 100)}${problem}`;
    }
    return undefined;
  };
}

/** `optional` fields may be absent. */
export function objectOf(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  const fields = Object.entries({ ...required, ...optional });
  return (value) => {
    if (!isObject(value)) return " is no object";
    for (const [name, shape] of fields) {
      const found = ownValue(value, name);
      if (found === undefined && Object.hasOwn(optional, name)) continue;
      const problem = shape(found);
      if (problem !== undefined) return `.${name}${problem}`;
    }
    return undefined;
  };
}

/** JSON in UTF-8 that has the shape. @throws RangeError that names the field, SyntaxError, TypeError for bytes that are no UTF-8 */
export function decodeShape<T>(bytes: Uint8Array, shape: Shape): T {
  return parseShape(new TextDecoder("utf-8", { fatal: true }).decode(bytes), shape);
}

/** @throws RangeError that names the field, SyntaxError */
export function parseShape<T>(json: string, shape: Shape): T {
  return shaped(JSON.parse(json), shape);
}

/** @throws RangeError that names the field */
function shaped<T>(value: unknown, shape: Shape): T {
  const problem = shape(value);
  if (problem === undefined) return value as T;
  throw new RangeError(problem.startsWith(".") ? problem.slice(1) : `the value${problem}`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  for (const key in value)
    if (isDeeper(ownValue(value as Readonly<Record<string, unknown>>, key), levels - 1)) return true;
  return false;
}
