/** Values within an object together with their paths: a check reads a field and reports under the path that a user looks for. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../../problem.ts";

export interface Field {
  readonly value: unknown;
  /** `spec.http[0].route`. */
  readonly path: string;
}

/** A field of an object; without a value where the parent has none. */
export function field(parent: Field, name: string): Field {
  const value = isObject(parent.value) ? ownValue(parent.value, name) : undefined;
  return { value, path: parent.path === "" ? name : `${parent.path}.${name}` };
}

/** A field below a field: `fieldAt(spec, "trafficPolicy", "tls")`. */
export function fieldAt(parent: Field, ...names: readonly string[]): Field {
  return names.reduce(field, parent);
}

/** The members of a list; none for what is no list. */
export function items(parent: Field, name: string): readonly Field[] {
  const list = field(parent, name);
  if (!Array.isArray(list.value)) return [];
  return list.value.map((value, index) => ({ value, path: `${list.path}[${index}]` }));
}

/** The members of a map, each with its key; none for what is no map. */
export function entries(parent: Field, name: string): readonly (readonly [key: string, member: Field])[] {
  const map = field(parent, name);
  if (!isObject(map.value)) return [];
  return Object.entries(map.value).map(([key, value]) => [key, { value, path: `${map.path}[${key}]` }]);
}

/** True where a field has a value: null is none. */
export function isSet({ value }: Field): boolean {
  return value !== undefined && value !== null;
}

/** The text of a field; "" where it has none, as protobuf has it. */
export function textOf({ value }: Field): string {
  return typeof value === "string" ? value : "";
}

/** The number of a field, 64-bit ones as text included; 0 where it has none, as protobuf has it. */
export function numberOf({ value }: Field): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : 0;
}

/** The texts of a list, each with its path. */
export function texts(parent: Field, name: string): readonly (Field & { readonly value: string })[] {
  return items(parent, name).flatMap(({ value, path }) => (typeof value === "string" ? [{ value, path }] : []));
}

/** An error, where the condition holds. */
export function refuseIf(condition: boolean, { path }: Field, reason: string): readonly Problem[] {
  return condition ? [{ field: path, reason, severity: "error" }] : [];
}

/** A warning, where the condition holds: the object is accepted. */
export function warnIf(condition: boolean, { path }: Field, reason: string): readonly Problem[] {
  return condition ? [{ field: path, reason, severity: "warning" }] : [];
}

/** The first member of a list whose key an earlier member has, for each such member. */
export function repeated(members: readonly Field[], keyOf: (member: Field) => string): readonly Field[] {
  const seen = new Set<string>();
  return members.filter((member) => {
    const key = keyOf(member);
    const isRepeated = seen.has(key);
    seen.add(key);
    return isRepeated;
  });
}
