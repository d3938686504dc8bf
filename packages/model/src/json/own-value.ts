/** Values of unknown shape: JSON from outside, and records whose keys come from outside. */

/**
 * The value of a record's own key. For keys from outside: `record[key]` finds what every object inherits, such as `toString`, too.
 * scripts/check-code.ts finds the places.
 */
export function ownValue<T>(record: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined {
  return record !== undefined && record !== null && Object.hasOwn(record, key) ? record[key] : undefined;
}

/** The objects of a list; none of anything else. */
export function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** True where a value is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
