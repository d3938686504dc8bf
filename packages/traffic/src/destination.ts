/** A cluster that a call is sent to, and the endpoints that it may reach. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { FullCall } from "./call.ts";
import { type End, type Hop, metadataObjects } from "./hop.ts";
import { at, objectsAt, textAt } from "./json.ts";

/** Clusters and endpoints of a proxy, by name. */
export interface Destinations {
  readonly clusters: (name: string) => JsonObject | undefined;
  /** The assignment of a name. */
  readonly endpoints: (name: string) => JsonObject | undefined;
}

/** An endpoint as the control plane knows it: what the proxy observes by itself, such as ejections, is not known. */
export interface Endpoint {
  /** `10.0.0.1:8080`, the path of a socket, or the name of an internal listener. */
  readonly address: string;
  readonly priority: number;
  /** Region, zone and subzone. */
  readonly locality: string;
  readonly weight: number;
  readonly isHealthy: boolean;
  /** `name;namespace`, where Istio's metadata has it. */
  readonly workload: string;
  /** How the proxy talks to it. */
  readonly transport: Transport;
  /** SPIFFE URIs or names that its certificate must have. */
  readonly identities: readonly string[];
}

export type Transport = "plain text" | "TLS" | "mutual TLS" | "HBONE";

export interface DestinationPath {
  readonly hops: readonly Hop[];
  readonly end: End;
  readonly endpoints: readonly Endpoint[];
}

/** The way of a call to one cluster. */
export function pathToCluster({ clusters, endpoints }: Destinations, name: string, call: FullCall): DestinationPath {
  const isHttp = call.Protocol !== "tcp";
  const cluster = clusters(name);
  const isBlackHole = name === "BlackHoleCluster";
  if (cluster === undefined || isBlackHole) {
    const fact = isBlackHole
      ? "It has no endpoints: calls to unknown hosts end here."
      : "The proxy has no cluster of this name.";
    const hop: Hop = { ...{ kind: "cluster", name, verdict: "stops", objects: [] }, facts: [fact] };
    return {
      hops: [hop],
      end: nowhere(isHttp, isBlackHole ? "the call ends at BlackHoleCluster" : `there is no cluster ${name}`),
      endpoints: [],
    };
  }
  const clusterHop: Hop = {
    ...{ kind: "cluster", name, verdict: "passes" },
    ...{ facts: clusterFacts(cluster), resource: { type: "cds", name }, objects: metadataObjects(cluster) },
  };
  if (textAt(cluster, "type") === "ORIGINAL_DST") return originalDestination(clusterHop, cluster, call);
  const assigned = textAt(cluster, "edsClusterConfig", "serviceName") || name;
  const assignment =
    textAt(cluster, "type") === "EDS" ? endpoints(assigned) : (at(cluster, "loadAssignment") as JsonObject | undefined);
  const found = endpointsOf(cluster, assignment);
  const reachable = reachableOf(found);
  const hop: Hop = {
    ...{ kind: "endpoints", name: assigned, verdict: reachable.length > 0 ? "passes" : "stops", objects: [] },
    ...(textAt(cluster, "type") === "EDS" && assignment !== undefined && { resource: { type: "eds", name: assigned } }),
    facts: endpointFacts(found, reachable),
  };
  const end: End =
    reachable.length > 0
      ? {
          kind: "forwarded",
          reason: `It goes to ${endpointText(reachable)} by ${transportsOf(reachable)}.`,
          unless: [],
        }
      : nowhere(isHttp, found.length === 0 ? `${name} has no endpoints` : `${name} has no healthy endpoint`);
  return { hops: [clusterHop, hop], end, endpoints: found };
}

function nowhere(isHttp: boolean, why: string): End {
  const unless: readonly string[] = [];
  if (!isHttp) return { kind: "closed", reason: `The connection is closed: ${why}.`, unless };
  return { kind: "refused", status: 503, reason: `503: ${why}.`, unless };
}

function originalDestination(hop: Hop, cluster: JsonObject, { Address, Port }: FullCall): DestinationPath {
  const inbound = textAt(cluster, "name").startsWith("inbound");
  const where = inbound ? `the application on port ${Port}` : `${Address}:${Port}, where it was going`;
  const address = `${Address}:${Port}`;
  const endpoint: Endpoint = {
    ...{ address, priority: 0, locality: "", weight: 1, isHealthy: true, workload: "" },
    ...transportOf(cluster, undefined),
  };
  return {
    hops: [hop],
    end: { kind: "forwarded", reason: `It goes to ${where}.`, unless: [] },
    endpoints: inbound ? [] : [endpoint],
  };
}

function clusterFacts(cluster: JsonObject): readonly string[] {
  const [thresholds] = objectsAt(cluster, "circuitBreakers", "thresholds");
  const limit = (key: string, what: string) => {
    const value = textAt(thresholds, key);
    return value === "" || value === "4294967295" ? "" : `At most ${value} ${what}.`;
  };
  const balances = textAt(cluster, "lbPolicy") || "ROUND_ROBIN";
  const outlier = at(cluster, "outlierDetection");
  const connect = textAt(cluster, "connectTimeout");
  return [
    balances === "CLUSTER_PROVIDED" ? "" : `Balances by ${balances}.`,
    limit("maxConnections", "connections"),
    limit("maxPendingRequests", "waiting requests"),
    limit("maxRequests", "requests at once"),
    outlier === undefined ? "" : "Endpoints that fail are ejected for a while; ejections are known to the proxy alone.",
    connect === "" ? "" : `Connects within ${connect}.`,
  ].filter((fact) => fact !== "");
}

function endpointsOf(cluster: JsonObject, assignment: JsonObject | undefined): readonly Endpoint[] {
  return objectsAt(assignment, "endpoints").flatMap((group) => {
    const place = ["region", "zone", "subZone"].map((key) => textAt(group, "locality", key));
    return objectsAt(group, "lbEndpoints").map((one): Endpoint => {
      const [workload = "", namespace = ""] = textAt(one, "metadata", "filterMetadata", "istio", "workload").split(";");
      const health = textAt(one, "healthStatus");
      return {
        address: addressOf(at(one, "endpoint", "address")),
        priority: Number(textAt(group, "priority") || "0"),
        locality: place.filter((part) => part !== "").join("/"),
        weight: Number(textAt(one, "loadBalancingWeight") || "1"),
        isHealthy: health === "" || health === "UNKNOWN" || health === "HEALTHY" || health === "DEGRADED",
        workload: workload === "" ? "" : `${workload};${namespace}`,
        ...transportOf(cluster, one),
      };
    });
  });
}

function addressOf(address: JsonValue | undefined): string {
  const [host, port] = ["address", "portValue"].map((key) => textAt(address, "socketAddress", key));
  const internal = at(address, "envoyInternalAddress");
  if (internal !== undefined) return textAt(internal, "endpointId") || textAt(internal, "serverListenerName");
  return host ? `${host?.includes(":") ? `[${host}]` : host}:${port}` : textAt(address, "pipe", "path");
}

/** The socket of the first match whose metadata the endpoint has, else that of the cluster. */
function transportOf(
  cluster: JsonObject,
  endpoint: JsonObject | undefined,
): Pick<Endpoint, "transport" | "identities"> {
  const has = at(endpoint, "metadata", "filterMetadata", "envoy.transport_socket_match");
  const match = objectsAt(cluster, "transportSocketMatches").find((one) => {
    const wanted = at(one, "match");
    return Object.entries(typeof wanted === "object" ? (wanted as JsonObject) : {}).every(
      ([key, value]) => textAt(has, key) === value,
    );
  });
  const socket = at(match, "transportSocket") ?? at(cluster, "transportSocket");
  if (at(endpoint, "endpoint", "address", "envoyInternalAddress") !== undefined)
    return { transport: "HBONE", identities: [] };
  const context = at(socket, "typedConfig", "commonTlsContext");
  if (context === undefined) return { transport: "plain text", identities: [] };
  const names = objectsAt(context, "tlsCertificateSdsSecretConfigs");
  const validation = at(context, "combinedValidationContext", "defaultValidationContext");
  return {
    transport: names.some(({ name }) => name === "default") ? "mutual TLS" : "TLS",
    identities: objectsAt(validation, "matchSubjectAltNames").map(
      (one) => textAt(one, "exact") || textAt(one, "prefix"),
    ),
  };
}

/** Healthy endpoints of the best priority that has some. */
function reachableOf(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const healthy = endpoints.filter(({ isHealthy }) => isHealthy);
  const best = Math.min(...healthy.map(({ priority }) => priority));
  return healthy.filter(({ priority }) => priority === best);
}

function endpointFacts(all: readonly Endpoint[], reachable: readonly Endpoint[]): readonly string[] {
  const healthy = all.filter(({ isHealthy }) => isHealthy).length;
  if (all.length === 0) return ["It has no endpoints."];
  const spare = healthy - reachable.length;
  return [
    `${healthy} of ${all.length} healthy.`,
    ...(spare > 0 ? [`${spare} of them take over when the nearer ones fail.`] : []),
  ];
}

function endpointText(endpoints: readonly Endpoint[]): string {
  const [first] = endpoints;
  return endpoints.length === 1 ? (first?.address ?? "") : `one of ${endpoints.length} endpoints`;
}

function transportsOf(endpoints: readonly Endpoint[]): string {
  return [...new Set(endpoints.map(({ transport }) => transport))].join(" or ");
}
