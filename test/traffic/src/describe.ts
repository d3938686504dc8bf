/** Describes the path of a call, in words that tests can compare. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { Meeting } from "@flotilla/traffic";
import { at, objectsAt, textAt } from "@flotilla/traffic";

/** Where the call goes: `outbound|80||a`, `90 a, 10 b + mirror`, `502`, `redirect http://…`, or why it fails. */
export function describeTarget({ outcome, route, filters = [] }: Meeting): string {
  if (outcome.error !== undefined) return outcome.error;
  if (route === undefined) return outcome.cluster ?? (weightedConnections(filters) || "nothing");
  const redirect = at(route, "redirect");
  if (redirect !== undefined) {
    const [scheme, host, path] = ["schemeRedirect", "hostRedirect", "pathRedirect"].map((key) => textAt(redirect, key));
    return `redirect ${scheme || "http"}://${host}${path}`;
  }
  if (at(route, "directResponse") !== undefined) return textAt(route, "directResponse", "status");
  const mirrors = objectsAt(route, "route", "requestMirrorPolicies").map((mirror) => ` + ${textAt(mirror, "cluster")}`);
  return `${weighted(objectsAt(route, "route", "weightedClusters", "clusters")) || textAt(route, "route", "cluster")}${mirrors.join("")}`;
}

function weightedConnections(filters: readonly JsonObject[]): string {
  return weighted(filters.flatMap((filter) => objectsAt(filter, "typedConfig", "weightedClusters", "clusters")));
}

function weighted(clusters: readonly JsonObject[]): string {
  return clusters.map((cluster) => `${textAt(cluster, "weight")} ${textAt(cluster, "name")}`).join(", ");
}

/** Other settings of the route and the cluster: `timeout 1s, 2 retries on 503, RING_HASH, mutual TLS`. */
export function describePolicy({ route }: Meeting, cluster: JsonObject | undefined): string {
  const timeout = textAt(route, "route", "timeout");
  const retries = at(route, "route", "retryPolicy");
  const fault = at(route, "typedPerFilterConfig", "envoy.filters.http.fault");
  const ejectsAfter = textAt(cluster, "outlierDetection", "consecutive5xx");
  const [thresholds] = objectsAt(cluster, "circuitBreakers", "thresholds");
  const connections = textAt(thresholds, "maxConnections");
  return [
    timeout !== "" && timeout !== "0s" && `timeout ${timeout}`,
    retries !== undefined && `${textAt(retries, "numRetries") || "1"} retries on ${textAt(retries, "retryOn")}`,
    at(fault, "abort") !== undefined && `abort ${textAt(fault, "abort", "httpStatus")}`,
    at(fault, "delay") !== undefined && `delay ${textAt(fault, "delay", "fixedDelay")}`,
    cluster !== undefined && (textAt(cluster, "lbPolicy") || "ROUND_ROBIN"),
    transport(cluster),
    ejectsAfter !== "" && `ejects after ${ejectsAfter}`,
    connections !== "" && connections !== "4294967295" && `${connections} connections`,
  ]
    .filter((part) => part !== false && part !== "")
    .join(", ");
}

/** How the cluster talks to its endpoints. */
function transport(cluster: JsonObject | undefined): string {
  if (objectsAt(cluster, "transportSocketMatches").length > 0) return "mutual TLS where it is taken";
  const context = at(cluster, "transportSocket", "typedConfig");
  return context === undefined ? "plain text" : isMutual(context) ? "mutual TLS" : "TLS";
}

/** The mesh's certificates are distinguished by the name under which the agent serves them. */
function isMutual(context: JsonValue): boolean {
  return objectsAt(context, "commonTlsContext", "tlsCertificateSdsSecretConfigs").some(
    ({ name }) => name === "default",
  );
}

/** Addresses by priority, best first: `10.0.0.1:80 10.0.0.2:80 | 10.0.0.3:80`; those that take the mesh's TLS end in `*`. */
export function describeEndpoints(cluster: JsonObject | undefined, assignment: JsonObject | undefined): string {
  if (textAt(cluster, "type") === "ORIGINAL_DST") return "where it was going";
  const localities = objectsAt(assignment ?? at(cluster, "loadAssignment"), "endpoints");
  const byPriority = new Map<number, string[]>();
  for (const locality of localities) {
    const priority = Number(textAt(locality, "priority") || "0");
    const known = byPriority.get(priority) ?? [];
    byPriority.set(priority, [...known, ...objectsAt(locality, "lbEndpoints").map(endpointText)]);
  }
  return [...byPriority]
    .sort(([a], [b]) => a - b)
    .map(([, addresses]) => addresses.sort().join(" "))
    .join(" | ");
}

function endpointText(endpoint: JsonObject): string {
  const address = at(endpoint, "endpoint", "address");
  const path = textAt(address, "pipe", "path");
  const place =
    path || `${textAt(address, "socketAddress", "address")}:${textAt(address, "socketAddress", "portValue")}`;
  const takesTls =
    textAt(endpoint, "metadata", "filterMetadata", "envoy.transport_socket_match", "tlsMode") === "istio";
  return takesTls ? `${place}*` : place;
}

/** The authorization policies that a call to the workload is held against: `ALLOW ns[shop]-policy[web]-rule[0]`. */
export function describeAuthorization({ filters = [] }: Meeting): string {
  const http = filters.flatMap((filter) => objectsAt(filter, "typedConfig", "httpFilters"));
  const rbac = [...filters, ...http].filter(({ name }) => /rbac$/.test(String(name)));
  return rbac
    .map((filter) => {
      const rules = at(filter, "typedConfig", "rules");
      const policies = at(rules, "policies");
      const names = typeof policies === "object" && policies !== null ? Object.keys(policies) : [];
      return [textAt(rules, "action") || "ALLOW", ...names].join(" ");
    })
    .join("; ");
}
