/** Asks the pure core what a client would ask a control plane, in the order in which a client learns the names. */
import { type Locality, parseLocality, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, type JsonValue, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import type { Core } from "@flotilla/xds-server/core";
import type { Capture, ScenarioProxy } from "./scenario.ts";

export function captureEnvoy(core: Core, proxy: ScenarioProxy): Capture {
  const node = parseNode({
    id: proxy.id,
    cluster: proxy.cluster,
    metadata: proxy.metadata,
    locality: localityOf(proxy),
  });
  const subject = core.subjectOf(node);
  const captured = new Map<string, ReadonlyMap<string, JsonObject>>();
  const ask = (short: string, type: string, names?: readonly string[]) => {
    if (names !== undefined && names.length === 0) return new Map<string, JsonObject>();
    const set = core.resources(subject, type, names && nameSet(names));
    const found = new Map(
      [...(set?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(type, bytes) as JsonObject]),
    );
    if (set !== undefined) captured.set(short, found);
    return found;
  };
  const clusters = [...ask("cds", typeUrl.cluster).values()];
  ask("eds", typeUrl.endpoint, clusters.filter((cluster) => cluster["type"] === "EDS").map(edsNameOf));
  const listeners = [...ask("lds", typeUrl.listener).values()];
  ask("nds", typeUrl.nameTable);
  const everything = [...clusters, ...listeners];
  ask(
    "rds",
    typeUrl.route,
    namesAt(everything, "rds", (found) => found["routeConfigName"]),
  );
  ask("ecds", typeUrl.extensionConfig, namesWith(everything, "configDiscovery"));
  ask("sds", typeUrl.secret, secretNames(everything));
  return captured;
}

function localityOf({ locality = "" }: ScenarioProxy): Locality {
  return parseLocality(locality);
}

function edsNameOf(cluster: JsonObject): string {
  const { serviceName } = (cluster["edsClusterConfig"] ?? {}) as { readonly serviceName?: string };
  return serviceName ?? String(cluster["name"]);
}

function namesAt(
  roots: readonly JsonObject[],
  key: string,
  nameOf: (found: JsonObject) => JsonValue | undefined,
): readonly string[] {
  const names = new Set<string>();
  walk(roots, (object) => {
    const found = object[key];
    const name = isObject(found) ? nameOf(found) : undefined;
    if (typeof name === "string") names.add(name);
  });
  return [...names];
}

/** Names of objects that hold `key`: extension configurations are named by the filter that refers to them. */
function namesWith(roots: readonly JsonObject[], key: string): readonly string[] {
  const names = new Set<string>();
  walk(roots, (object) => {
    if (isObject(object[key]) && typeof object["name"] === "string") names.add(object["name"]);
  });
  return [...names];
}

/** Secrets that are fetched over ADS; others come from the agent beside the proxy. */
function secretNames(roots: readonly JsonObject[]): readonly string[] {
  const names = new Set<string>();
  walk(roots, (object) => {
    const config = object["sdsConfig"];
    if (isObject(config) && isObject(config["ads"]) && typeof object["name"] === "string") names.add(object["name"]);
  });
  return [...names];
}

function walk(value: JsonValue | readonly JsonObject[], visit: (object: JsonObject) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  else if (isObject(value)) {
    visit(value);
    for (const item of Object.values(value)) walk(item, visit);
  }
}

function isObject(value: JsonValue | readonly JsonObject[] | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
