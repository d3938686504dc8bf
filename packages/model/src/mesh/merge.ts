/**
 * How a MeshConfig document overrides what was there: field by field, but proxy settings, default
 * providers, extension providers and trust domain aliases add to the ones before. Source: corpus mesh-config.
 */

import { compareText } from "../config/config.ts";
import { isObject } from "../json/own-value.ts";
import type { Json, JsonObject } from "./mesh-config.ts";

export function applyMeshConfig(base: JsonObject, document: JsonObject): JsonObject {
  const result = new Map(Object.entries(base));
  for (const [name, value] of presentFields(document))
    result.set(name, merges.get(name)?.(result.get(name), value) ?? value);
  // A set in fixed order, whichever document its members came from.
  const aliases = result.get("trustDomainAliases");
  if (aliases !== undefined) result.set("trustDomainAliases", sortedSet(aliases));
  return Object.fromEntries(result);
}

/** Values of `proxyMetadata` add to the ones before; every other field replaces. */
export function applyProxyConfig(base: JsonObject, document: JsonObject): JsonObject {
  const result = new Map(Object.entries(base));
  for (const [name, value] of presentFields(document)) {
    const before = result.get(name);
    const adds = name === "proxyMetadata" && isObject(before) && isObject(value);
    result.set(name, adds ? { ...before, ...value } : value);
  }
  return Object.fromEntries(result);
}

type Merge = (before: Json | undefined, value: Json) => Json | undefined;

const merges: ReadonlyMap<string, Merge> = new Map(
  Object.entries<Merge>({
    defaultConfig: (before, value) =>
      isObject(value) ? applyProxyConfig(isObject(before) ? before : {}, value) : undefined,
    defaultProviders: (before, value) => (isObject(before) && isObject(value) ? { ...before, ...value } : undefined),
    extensionProviders: (before, value) => (isList(before) && isList(value) ? mergeByName(before, value) : undefined),
    trustDomainAliases: (before, value) => [...(isList(before) ? before : []), ...(isList(value) ? value : [])],
  }),
);

function sortedSet(value: Json): readonly string[] {
  const texts = isList(value) ? value.filter((item) => typeof item === "string") : [];
  return [...new Set(texts)].sort(compareText);
}

function mergeByName(before: readonly Json[], after: readonly Json[]): readonly Json[] {
  const result = [...before];
  for (const item of after) {
    const index = result.findIndex((other) => isObject(other) && isObject(item) && other["name"] === item["name"]);
    if (index === -1) result.push(item);
    else result[index] = item;
  }
  return result;
}

/** Protobuf JSON takes a field's name in both spellings; null stands for absent. */
function presentFields(document: JsonObject): readonly (readonly [string, Json])[] {
  return Object.entries(document)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()), value]);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
