/** The functions of injection templates beside those of sprig. Users' templates call them too: their names are Istio's. */

import { formatValue, isNothing, isTrue, type TemplateFunctions } from "@flotilla/gotemplate";
import { ownValue } from "@flotilla/model";
import { stringify } from "yaml";
import { GoView, rawOf } from "./go-view.ts";
import { otelResourceAttributes } from "./otel-attributes.ts";
import type { Json, Metadata } from "./pod.ts";
import { cleanProxyConfig } from "./proxy-config.ts";

export const templateFunctions: TemplateFunctions = {
  /** The pod's annotation, or else the given value as a text. */
  annotation: (metadata, name, otherwise) =>
    ownValue(metadataOf(metadata).annotations, String(name)) ?? formatValue(otherwise),
  isset: (map, key) => Object.hasOwn(asObject(map), String(key)),
  valueOrDefault: (value, otherwise) => (isTrue(value) && value !== "" ? value : otherwise),
  toYaml: (value) => toYaml(rawOf(value)),
  toJSON: (value) => JSON.stringify(rawOf(value)),
  fromJSON: (text) => JSON.parse(isNothing(text) || text === "" ? "null" : String(text)),
  structToJSON: (value) => (isNothing(value) ? "{}" : JSON.stringify(rawOf(value))),
  protoToJSON: (value) => JSON.stringify(cleanProxyConfig(asObject(rawOf(value)))),
  /** Later maps win; texts only. */
  toJsonMap: (...maps) => JSON.stringify(sortedByName(Object.assign({}, ...maps.map(asObject)))),
  /** Not the first line, unlike sprig's: in templates its indentation stands before the action. */
  indent: (columns, text) => String(text).replaceAll("\n", `\n${" ".repeat(Number(columns))}`),
  toLower: (text) => String(text).toLowerCase(),
  strdict: (...parts) => Object.fromEntries(pairs(parts)),
  omitNil,
  directory: (path) => String(path).replace(/\/[^/]*$/, "") || ".",
  excludeInboundPort,
  appendMultusNetwork,
  otelResourceAttributes,
};

/** The port of the proxy's own health page is never captured, whatever else is left out. */
function excludeInboundPort(port: unknown, excluded: unknown): string {
  const own = formatValue(port).trim();
  const given = isNothing(excluded) ? "" : String(excluded);
  if (own === "" || own === "0") return given;
  const ports = given === "" ? [] : given.split(",").map((part) => part.trim());
  return ports.includes(own) ? given : [...ports, own].join(",");
}

/** The networks a pod joins are a list of names, or of objects in JSON; both get one more. */
function appendMultusNetwork(existing: unknown, network: unknown): string {
  const [given, added] = [isNothing(existing) ? "" : String(existing), String(network)];
  if (given === "") return added;
  if (!given.trimStart().startsWith("[")) return `${given}, ${added}`;
  if (given.includes(added)) return given;
  const [first = "", second] = added.split("/");
  const [namespace, name] = second === undefined ? ["", first] : [first, second];
  const entry = `{"name": "${name}"${namespace === "" ? "" : `, "namespace": "${namespace}"`}}`;
  const end = given.lastIndexOf("]");
  if (end === -1) return given;
  return `${given.slice(0, end)}, ${entry}${given.slice(end)}`;
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

function sortedByName(value: Json): Json {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pairs(parts: readonly unknown[]): readonly (readonly [string, unknown])[] {
  return parts.flatMap((name, index) => (index % 2 === 0 ? [[String(name), parts[index + 1] ?? ""] as const] : []));
}
