/** Where two JSON values differ, field by field. */

import type { Json } from "../mesh/mesh-config.ts";
import { isObject } from "./own-value.ts";

export interface Difference {
  /** `virtualHosts[2].routes[0].match.prefix`; empty for the whole. */
  readonly path: string;
  /** Undefined: it is only in the other one. */
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Elements of lists are distinguished by `name`, where all have one of their own, else by their place. */
export function jsonDifferences(before: Json, after: Json, path = ""): readonly Difference[] {
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
  before: ReadonlyMap<string, Json>,
  after: ReadonlyMap<string, Json>,
  pathOf: (key: string) => string,
): readonly Difference[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    if (old === undefined || now === undefined) return [{ path: pathOf(key), before: old, after: now }];
    return jsonDifferences(old, now, pathOf(key));
  });
}

function members(list: readonly Json[], other: readonly Json[]): ReadonlyMap<string, Json> {
  const byName = hasNames(list) && hasNames(other);
  return new Map(list.map((item, index) => [byName ? nameOf(item) : String(index), item]));
}

function hasNames(list: readonly Json[]): boolean {
  const names = list.map(nameOf);
  return names.every((name) => name !== "") && new Set(names).size === names.length;
}

function nameOf(item: Json): string {
  const name = isObject(item) ? item["name"] : undefined;
  return typeof name === "string" ? name : "";
}
