/**
 * A partial object laid over an object (a pod, or what is deployed for a Gateway), with the meaning of Kubernetes' strategic merge patch: objects merge field by field, null
 * takes a field away, lists with a merge key merge item by item, other lists are replaced.
 */
import { isObject, ownValue } from "@flotilla/model";
import type { Json } from "./pod.ts";

/** Field → the item's field that distinguishes items. Source: the Kubernetes API reference. */
type MergeKeys = Readonly<Record<string, string>>;

/** For the lists within pods. */
const podKeys: MergeKeys = {
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  volumes: "name",
  imagePullSecrets: "name",
  hostAliases: "ip",
  topologySpreadConstraints: "topologyKey",
  resourceClaims: "name",
  schedulingGates: "name",
  env: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  volumeDevices: "devicePath",
  ownerReferences: "uid",
};

/** Within a Service. */
export const serviceKeys: MergeKeys = { ...podKeys, ports: "port" };

export function mergeStrategically<T extends Json>(base: T, overlay: Json, keys: MergeKeys = podKeys): T {
  return mergeObjects(base, overlay, keys) as T;
}

function mergeObjects(base: Json, overlay: Json, keys: MergeKeys): Json {
  if (overlay["$patch"] === "replace") return withoutDirectives(overlay);
  const merged = new Map<string, unknown>(Object.entries(base));
  for (const [name, value] of Object.entries(overlay)) {
    if (name.startsWith("$")) continue;
    if (value === null) merged.delete(name);
    else merged.set(name, mergeValues(name, [merged.get(name), value], keys));
  }
  return Object.fromEntries(merged);
}

function mergeValues(name: string, [base, overlay]: readonly [unknown, unknown], keys: MergeKeys): unknown {
  if (isObject(overlay)) return mergeObjects(isObject(base) ? base : {}, overlay, keys);
  if (!Array.isArray(overlay)) return overlay;
  const key = ownValue(keys, name);
  return key === undefined ? overlay : mergeLists(key, [Array.isArray(base) ? base : [], overlay], keys);
}

/** The overlay's items come first, except where the base has an item of the overlay and so defines the order of two. */
function mergeLists(
  key: string,
  [base, overlay]: readonly [readonly unknown[], readonly unknown[]],
  keys: MergeKeys,
): readonly unknown[] {
  if (overlay.some((item) => isObject(item) && item["$patch"] === "replace"))
    return overlay.filter((item) => !isDirective(item));
  const deleted = new Set(
    overlay.filter((item) => isObject(item) && item["$patch"] === "delete").map((item) => keyOf(item, key)),
  );
  const places = new Map(base.map((item, index) => [keyOf(item, key), index]));
  const wanted = new Map<unknown, unknown>();
  for (const item of overlay) {
    const own = keyOf(item, key);
    if (deleted.has(own)) continue;
    const place = places.get(own);
    const before = wanted.get(own) ?? (place === undefined ? {} : base[place]);
    wanted.set(own, isObject(item) && isObject(before) ? mergeObjects(before, item, keys) : item);
  }
  const left = base.filter((item) => !wanted.has(keyOf(item, key)) && !deleted.has(keyOf(item, key)));
  const merged: unknown[] = [];
  let next = 0;
  for (const [own, item] of wanted) {
    const place = places.get(own);
    while (place !== undefined && next < left.length && (places.get(keyOf(left[next], key)) ?? 0) < place)
      merged.push(left[next++]);
    merged.push(item);
  }
  return [...merged, ...left.slice(next)];
}

function keyOf(item: unknown, key: string): unknown {
  return isObject(item) ? ownValue(item, key) : item;
}

function isDirective(item: unknown): boolean {
  return isObject(item) && item["$patch"] === "replace" && Object.keys(item).length === 1;
}

function withoutDirectives(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !name.startsWith("$")));
}
