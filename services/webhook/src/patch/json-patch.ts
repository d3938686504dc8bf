/** The difference of two JSON values as a JSON patch (RFC 6902). */
import { isObject, ownValue } from "@flotilla/model";

export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** Applied in order, the operations turn `before` into `after`. An undefined field is an absent one. */
export function diffJson(before: unknown, after: unknown, path = ""): readonly PatchOperation[] {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path);
  if (isObject(before) && isObject(after)) return diffObjects(before, after, path);
  return [{ op: "replace", path, value: after }];
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): readonly PatchOperation[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name): readonly PatchOperation[] => {
    const [old, next, own] = [ownValue(before, name), ownValue(after, name), `${path}/${escapePointer(name)}`];
    if (next === undefined) return old === undefined ? [] : [{ op: "remove", path: own }];
    return old === undefined ? [{ op: "add", path: own, value: next }] : diffJson(old, next, own);
  });
}

/** Place by place; surplus items are removed from the end, so that the places before it keep their numbers. */
function diffArrays(before: readonly unknown[], after: readonly unknown[], path: string): readonly PatchOperation[] {
  const common = Math.min(before.length, after.length);
  const changed = before.slice(0, common).flatMap((old, index) => diffJson(old, after[index], `${path}/${index}`));
  const removed = before
    .slice(common)
    .map((_, index): PatchOperation => ({ op: "remove", path: `${path}/${before.length - 1 - index}` }));
  const added = after.slice(common).map((value): PatchOperation => ({ op: "add", path: `${path}/-`, value }));
  return [...changed, ...removed, ...added];
}

type JsonObject = Readonly<Record<string, unknown>>;

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
