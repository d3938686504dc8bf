/** Where two JSON values differ, field by field. */
import type { JsonValue } from "@flotilla/proto";

export interface Difference {
  /** `virtualHosts[2].routes[0].match.prefix`; empty for the whole. */
  readonly path: string;
  /** Undefined: it is only in the other one. */
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

/** Elements of lists are told apart by `name`, where all have one of their own, else by their place. */
export function jsonDifferences(before: JsonValue, after: JsonValue, path = ""): readonly Difference[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    return compare(members(before, after), members(after, before), (key) => `${path}[${key}]`);
  }
  if (isObject(before) && isObject(after)) {
    const field = (name: string) => (path === "" ? name : `${path}.${name}`);
    return compare(new Map(Object.entries(before)), new Map(Object.entries(after)), field);
  }
  return before === after ? [] : [{ path, before, after }];
}

function compare(
  before: ReadonlyMap<string, JsonValue>,
  after: ReadonlyMap<string, JsonValue>,
  pathOf: (key: string) => string,
): readonly Difference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    if (old === undefined || now === undefined) return [{ path: pathOf(key), before: old, after: now }];
    return jsonDifferences(old, now, pathOf(key));
  });
}

function members(list: readonly JsonValue[], other: readonly JsonValue[]): ReadonlyMap<string, JsonValue> {
  const byName = hasNames(list) && hasNames(other);
  return new Map(list.map((item, index) => [byName ? nameOf(item) : String(index), item]));
}

function hasNames(list: readonly JsonValue[]): boolean {
  const names = list.map(nameOf);
  return names.every((name) => name !== "") && new Set(names).size === names.length;
}

function nameOf(item: JsonValue): string {
  const name = isObject(item) ? item["name"] : undefined;
  return typeof name === "string" ? name : "";
}

function isObject(value: JsonValue): value is { readonly [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
