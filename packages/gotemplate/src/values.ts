/**
 * Data as templates see it. Plain objects are Go's maps: a missing key is `undefined`. Go's structs are objects with a
 * `field` method, which distinguishes a field that is not set (`zero`) from one that does not exist.
 */

/** A value with named fields instead of keys; true in conditions, whatever it holds. */
export interface Struct {
  /** `zero` for a field that is not set; undefined for one that does not exist. */
  field(name: string): unknown;
}

/**
 * The zero value of an undeclared type: false, equal to "", 0 and false, printed as nothing, empty in a range, and
 * any field of it is zero again.
 */
export const zero: unique symbol = Symbol("zero");

/** A map of Go as a plain object. */
export type MapLike = Readonly<Record<string, unknown>>;

/** True where the value stands for a struct of Go. */
export function isStruct(value: unknown): value is Struct {
  return typeof value === "object" && value !== null && typeof (value as Partial<Struct>).field === "function";
}

/** True where the value is a map: an object that is neither list nor struct. */
export function isMap(value: unknown): value is MapLike {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isStruct(value);
}

/** nil, a missing key, or a field that is not set. */
export function isNothing(value: unknown): value is null | undefined | typeof zero {
  return value === null || value === undefined || value === zero;
}

/** True where a condition holds: zero values, empty texts, lists and maps do not. */
export function isTrue(value: unknown): boolean {
  if (isNothing(value)) return false;
  if (typeof value === "string" || Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return value !== 0 && value !== false && value !== 0n;
}

/** By code unit, as Go ranges over maps. */
export function sortedKeys(map: MapLike): readonly string[] {
  return Object.keys(map).sort();
}

/** As an action prints it. */
export function printValue(value: unknown): string {
  if (value === undefined || value === null) return "<no value>";
  return formatValue(value);
}

/** Go's `%v`. */
export function formatValue(value: unknown): string {
  if (value === zero) return "";
  if (value === undefined || value === null) return "<nil>";
  if (typeof value === "number") return formatNumber(value);
  if (Array.isArray(value)) return `[${value.map(formatValue).join(" ")}]`;
  if (isMap(value)) {
    // own key: of the value
    const parts = sortedKeys(value).map((key) => `${key}:${formatValue(value[key])}`);
    return `map[${parts.join(" ")}]`;
  }
  return String(value);
}

/** Whole numbers in full: data from JSON does not distinguish Go's integers from its floats, and ids are integers. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value)) return value.toFixed(0);
  return String(value).replace(/e([+-])(\d)$/, "e$10$2");
}

/** The name of a value's type in messages. */
export function typeName(value: unknown): string {
  if (value === undefined) return "no value";
  if (value === null) return "nil";
  if (value === zero) return "an unset field";
  if (Array.isArray(value)) return "list";
  if (isStruct(value)) return "struct";
  if (typeof value === "object") return "map";
  return typeof value;
}

/** The length of a text in UTF-8 bytes, of a list or map in elements; undefined for what has none. */
export function length(value: unknown): number | undefined {
  if (isNothing(value)) return value === zero ? 0 : undefined;
  if (typeof value === "string") return new TextEncoder().encode(value).byteLength;
  if (Array.isArray(value)) return value.length;
  return isMap(value) ? Object.keys(value).length : undefined;
}

/** Go's `==` on comparable values; undefined when the two types cannot be compared. */
export function equal(a: unknown, b: unknown): boolean | undefined {
  if (a === zero) return b === zero || !isTrue(b);
  if (b === zero) return !isTrue(a);
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b);
  if (typeof a === "object" || typeof b === "object") return typeof a === typeof b ? a === b : undefined;
  return typeof a === typeof b ? a === b : undefined;
}

/** Negative, zero or positive; undefined when the two cannot be ordered. */
export function compare(a: unknown, b: unknown): number | undefined {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  if (a === zero && typeof b === "number") return -b;
  return typeof a === "number" && b === zero ? a : undefined;
}
