/** The names that a client learns from what it has: endpoints of clusters, routes of listeners, extensions, secrets. */
import { metadataFlag, type NodeMetadata, ownClusterName } from "@flotilla/model";
import { isJsonObject, type JsonObject, type JsonValue } from "@flotilla/proto";

/** Endpoints of the clusters of an Envoy's bootstrap, which the agent beside it writes. */
export function bootstrapEndpointNames(metadata: NodeMetadata): readonly string[] {
  return metadataFlag(metadata, "ENABLE_SELF_DISCOVERY") ? [ownClusterName] : [];
}

/** Endpoints of clusters that discover them. */
export function endpointNames(clusters: Iterable<JsonObject>): readonly string[] {
  return [...clusters].filter((cluster) => cluster["type"] === "EDS").map(endpointNameOf);
}

function endpointNameOf(cluster: JsonObject): string {
  const { serviceName } = (cluster["edsClusterConfig"] ?? {}) as { readonly serviceName?: string };
  return serviceName ?? String(cluster["name"]);
}

export function routeNames(listeners: readonly JsonObject[]): readonly string[] {
  return distinct(listeners, (object) => {
    const rds = object["rds"];
    return isJsonObject(rds) ? rds["routeConfigName"] : undefined;
  });
}

/** True where a listener has its routes sent host by host; those are requested as a whole. */
export function hasScopedRoutes(listeners: readonly JsonObject[]): boolean {
  let found = false;
  walk(listeners, ({ scopedRoutes }) => {
    found ||= scopedRoutes !== undefined;
  });
  return found;
}

/** Extension configurations are named by the filter that refers to them. */
export function extensionNames(resources: readonly JsonObject[]): readonly string[] {
  return distinct(resources, (object) => (isJsonObject(object["configDiscovery"]) ? object["name"] : undefined));
}

/** Secrets that are fetched over ADS; others come from the agent beside the proxy. */
export function secretNames(resources: readonly JsonObject[]): readonly string[] {
  return distinct(resources, (object) => {
    const config = object["sdsConfig"];
    return isJsonObject(config) && isJsonObject(config["ads"]) ? object["name"] : undefined;
  });
}

/** Clusters that routes send calls to, for clients that ask for clusters by name. gRPC mirrors no calls. */
export function clusterNames(resources: readonly JsonObject[]): readonly string[] {
  const weighted: JsonValue[] = [];
  walk(resources, ({ weightedClusters }) => {
    if (isJsonObject(weightedClusters)) weighted.push(weightedClusters["clusters"] ?? []);
  });
  const shares = weighted.flat().filter(isJsonObject);
  const single = distinct(resources, ({ cluster, runtimeFraction }) =>
    runtimeFraction === undefined ? cluster : undefined,
  );
  return [...new Set([...single, ...distinct(shares, ({ name }) => name)])];
}

function distinct(
  roots: readonly JsonObject[],
  nameOf: (object: JsonObject) => JsonValue | undefined,
): readonly string[] {
  const names = new Set<string>();
  walk(roots, (object) => {
    const name = nameOf(object);
    if (typeof name === "string" && name !== "") names.add(name);
  });
  return [...names];
}

function walk(value: JsonValue | readonly JsonObject[], visit: (object: JsonObject) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, visit);
  else if (isJsonObject(value)) {
    visit(value);
    for (const item of Object.values(value)) walk(item, visit);
  }
}
