/** Equality of plain JSON values; the order of an object's fields does not count, an undefined field is an absent one. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((value, index) => equalJson(value, b[index]));
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  // own key: an inherited property equals no JSON value
  for (const key in left) if (!equalJson(left[key], right[key])) return false;
  for (const key in right) if (!Object.hasOwn(left, key) && right[key] !== undefined) return false;
  return true;
}
