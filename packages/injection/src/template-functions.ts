/** The functions of injection templates beside those of sprig. Users' templates call them too: their names are Istio's. */

import { formatValue, isNothing, type TemplateFunctions } from "@flotilla/gotemplate";
import { isObject, ownValue } from "@flotilla/model";
import { durationMs } from "@flotilla/validation";
import { stringify } from "yaml";
import { GoView, rawOf } from "./go-view.ts";
import { otelResourceAttributes } from "./otel-attributes.ts";
import type { Json, Metadata } from "./pod.ts";
import { portFunctions } from "./port-functions.ts";
import { cleanProxyConfig } from "./proxy-config.ts";

export const templateFunctions: TemplateFunctions = {
  /** The pod's annotation, or else the given value as a text. */
  annotation: (metadata, name, otherwise) =>
    ownValue(metadataOf(metadata).annotations, String(name)) ?? formatValue(otherwise),
  isset: (map, key) => Object.hasOwn(asObject(map), String(key)),
  valueOrDefault: (value, otherwise) => (isNothing(value) || value === "" ? otherwise : value),
  toYaml: (value) => toYaml(rawOf(value)),
  toJSON: (value) => (isNothing(value) ? "{}" : toJson(sorted(rawOf(value)))),
  fromJSON: fromJson,
  structToJSON: (value) => (isNothing(value) ? "{}" : toJson(rawOf(value))),
  protoToJSON: (value) => JSON.stringify(cleanProxyConfig(asObject(rawOf(value)))),
  /** Later maps win; texts only. */
  toJsonMap: (...maps) => toJson(sortedByName(mergeMaps(maps))),
  mergeMaps: (...maps) => mergeMaps(maps),
  omit: (map, ...keys) => withoutKeys(map, keys),
  /** differs: templates do not read the environment of the control plane, which holds more than is theirs. */
  env: (_, otherwise) => formatValue(otherwise),
  formatDuration,
  /** Not the first line, unlike sprig's: in templates its indentation stands before the action. */
  indent: (columns, text) => String(text).replaceAll("\n", `\n${" ".repeat(Number(columns))}`),
  toLower: (text) => String(text).toLowerCase(),
  strdict: (...parts) => Object.fromEntries(pairs(parts)),
  omitNil,
  directory,
  ...portFunctions,
  otelResourceAttributes,
};

/** As Go prints a duration: 90s is 1m30s. Texts that are no durations of the mesh configuration are zero. */
function formatDuration(value: unknown): string {
  const ms = durationMs(String(rawOf(value) ?? "")) ?? 0;
  if (ms !== 0 && Math.abs(ms) < 1_000) return `${ms}ms`;
  const seconds = Math.abs(ms) / 1_000;
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  const rest = `${Math.round((seconds % 60) * 1_000) / 1_000}s`;
  const sign = ms < 0 ? "-" : "";
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`;
  return `${sign}${minutes > 0 ? `${minutes}m` : ""}${rest}`;
}

/** Cuts the text after the last slash; the slash stays. */
function directory(path: unknown): string {
  const text = String(path);
  return text.slice(0, text.lastIndexOf("/") + 1);
}

/** A text that is no JSON counts as the text of an empty object, as in Istio. */
function fromJson(text: unknown): unknown {
  try {
    return JSON.parse(isNothing(text) || text === "" ? "null" : String(text));
  } catch {
    return "{}";
  }
}

/** Go escapes what HTML would take for tags. */
function toJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026");
}

function withoutKeys(map: unknown, keys: readonly unknown[]): Json {
  return Object.fromEntries(Object.entries(asObject(map)).filter(([name]) => !keys.includes(name)));
}

/** Values that were set to null on purpose take a default away: they must not appear. */
function omitNil(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const parts = Object.entries(asObject(rawOf(value))).filter(([, part]) => part !== null);
  return Object.fromEntries(
    parts.map(([name, part]) => [name, omitNil(part)]).filter(([, part]) => !isEmptyObject(part)),
  );
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function toYaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
}

function metadataOf(value: unknown): Metadata {
  return asObject(rawOf(value)) as Metadata;
}

function asObject(value: unknown): Json {
  if (value instanceof GoView) return value.raw;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function mergeMaps(maps: readonly unknown[]): Json {
  return Object.fromEntries(maps.flatMap((map) => Object.entries(asObject(map))));
}

function sorted(value: unknown): unknown {
  return isObject(value) ? sortedByName(value) : value;
}

function sortedByName(value: Json): Json {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pairs(parts: readonly unknown[]): readonly (readonly [string, unknown])[] {
  return parts.flatMap((name, index) => (index % 2 === 0 ? [[String(name), parts[index + 1] ?? ""] as const] : []));
}
