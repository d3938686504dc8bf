/**
 * Routes that a proxy gets host by host (SRDS) in the form in which istiod sends them: the listener names a route configuration, which has the
 * virtual hosts of all its scopes. Pure.
 */
import { compareText } from "@flotilla/model";
import { isJsonObject, type JsonObject, type JsonValue, typeUrl } from "@flotilla/proto";
import type { Capture } from "./own-side.ts";

/** The HTTP filter that a listener has with scopes only. */
const lowerCaseHostName = "flotilla.lower_case_host";

export function withWholeRoutes(capture: Capture): Capture {
  const scopes = capture.get("srds");
  if (scopes === undefined) return capture;
  const listeners = [...(capture.get("lds") ?? [])].map(
    ([name, listener]) => [name, namingRoutes(listener) as JsonObject] as const,
  );
  const routes = new Map([...(capture.get("rds") ?? []), ...wholeRoutes([...scopes.values()])]);
  const others = [...capture].filter(([type]) => type !== "srds");
  return new Map([...others, ["lds", new Map(listeners)], ["rds", routes]]);
}

function wholeRoutes(scopes: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  const configurations = scopes.map(({ routeConfiguration }) => (routeConfiguration ?? {}) as JsonObject);
  const byName = Map.groupBy(configurations, ({ name }) => String(name));
  return new Map(
    [...byName].map(([name, parts]) => {
      const hosts = parts.flatMap(({ virtualHosts }) => (virtualHosts ?? []) as readonly JsonObject[]);
      // Each domain of a virtual host is a scope.
      const virtualHosts = new Map(hosts.map((host) => [String(host["name"]), host]));
      const { typedPerFilterConfig: _, ...rest } = parts[0] ?? {};
      // As istiod sorts them.
      const sorted = [...virtualHosts].toSorted(([one], [other]) => compareText(one, other)).map(([, host]) => host);
      return [name, { "@type": typeUrl.route, ...rest, virtualHosts: sorted }];
    }),
  );
}

function namingRoutes(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(namingRoutes);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([field, inner]): [string, JsonValue] => {
    // Hosts in capital letters need it where scopes are found by hosts.
    if (field === "httpFilters" && Array.isArray(inner) && "scopedRoutes" in value)
      return [field, inner.filter((one) => !isJsonObject(one) || one["name"] !== lowerCaseHostName).map(namingRoutes)];
    if (field !== "scopedRoutes" || !isJsonObject(inner)) return [field, namingRoutes(inner)];
    return ["rds", { configSource: inner["rdsConfigSource"] ?? {}, routeConfigName: inner["name"] ?? "" }];
  });
  return Object.fromEntries(entries);
}
