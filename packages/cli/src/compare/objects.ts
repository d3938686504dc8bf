/** The object of the mesh behind a resource, or behind its fields that differ. Pure. */
import { peerAuthenticationOfPolicy, strictPolicyName, waypointOfPolicy } from "@flotilla/ambient";
import { isJsonObject, type JsonObject, type JsonValue } from "@flotilla/proto";

/** Objects that Flotilla made a resource from, as `Kind/namespace/name`; none where only the resource itself is known. */
export type MadeFrom = (type: string, name: string) => readonly string[];

export const nothingKnown: MadeFrom = () => [];

interface Place {
  /** `cds`, `wds` … */
  readonly type: string;
  readonly name: string;
}

interface Field {
  readonly path: string;
  readonly istiod?: JsonValue;
  readonly flotilla?: JsonValue;
}

/** The object that is named nearest to a field, or within its values. */
export function behindFields(
  fields: readonly Field[],
  resources: readonly JsonObject[],
  madeFrom: readonly string[],
): string | undefined {
  const around = fields.map(
    ({ path }) =>
      resources.map((resource) => objectAt(resource, path, madeFrom)).find((one) => one !== undefined) ??
      policyOf(path),
  );
  const inside = fields.map(({ istiod, flotilla }) => policyOf(JSON.stringify([istiod, flotilla])));
  return [...around, ...inside].find((one) => one !== undefined);
}

/** The object of a workload, service or policy of ztunnel, the first one that a resource of Envoy names, or its host. */
export function behindResource(
  { type, name }: Place,
  resource: JsonObject,
  madeFrom: readonly string[],
): string | undefined {
  if (type === "wds") return behindAddress(name, resource, madeFrom);
  if (type === "wads") return behindAuthorization(name);
  return firstObject(resource, madeFrom) ?? hostOf(name);
}

const serviceKinds = ["Service", "ServiceEntry"];

/**
 * Services are named `NAMESPACE/HOST`, workloads `CLUSTER/GROUP/KIND/NAMESPACE/NAME`, with an address where an object has several, and
 * those of other networks `NETWORK/SplitHorizonWorkload/NAMESPACE/GATEWAY/…`.
 */
function behindAddress(name: string, resource: JsonObject, madeFrom: readonly string[]): string | undefined {
  const [first, second, third, fourth, fifth] = name.split("/");
  if (third === undefined) {
    const origin = madeFrom.find((object) => serviceKinds.some((kind) => object.startsWith(`${kind}/`)));
    return origin === undefined ? behindService(resource["service"]) : objectText(origin.split("/"));
  }
  if (second === "SplitHorizonWorkload") return objectText(["Gateway", third, fourth]);
  return first === "NetworkGateway" ? undefined : objectText([third, fourth, fifth]);
}

/** The host of a Service of Kubernetes begins with its name and namespace. */
function behindService(service: JsonValue | undefined): string | undefined {
  if (!isJsonObject(service)) return undefined;
  const { name = "", namespace = "", hostname = "" } = service;
  const kind = String(hostname).startsWith(`${name}.${namespace}.svc.`) ? "Service" : "ServiceEntry";
  return objectText([kind, String(namespace), String(name)]);
}

function behindAuthorization(text: string): string | undefined {
  const [namespace = "", name = ""] = text.split("/");
  // One for the whole mesh, whichever objects ask for it.
  if (name === strictPolicyName) return undefined;
  const waypoint = waypointOfPolicy({ namespace, name });
  if (waypoint !== undefined) return objectText(["Gateway", waypoint.namespace, waypoint.name]);
  const converted = peerAuthenticationOfPolicy(name);
  return objectText(
    converted === undefined ? ["AuthorizationPolicy", namespace, name] : ["PeerAuthentication", namespace, converted],
  );
}

/** The object that the innermost message around the path names. */
function objectAt(resource: JsonObject, path: string, madeFrom: readonly string[]): string | undefined {
  const around: JsonValue[] = [resource];
  for (const key of path.match(/\["[^"]*"\]|[^.[\]]+/g) ?? []) {
    const last = around.at(-1);
    if (typeof last !== "object" || last === null) break;
    const next = (last as Readonly<Record<string, JsonValue>>)[key.startsWith("[") ? key.slice(2, -2) : key];
    if (next === undefined) break;
    around.push(next);
  }
  for (const message of around.reverse()) {
    const named = ownObject(message, madeFrom);
    if (named !== undefined) return named;
  }
  return undefined;
}

function firstObject(value: JsonValue, madeFrom: readonly string[]): string | undefined {
  const own = ownObject(value, madeFrom);
  if (own !== undefined) return own;
  if (typeof value !== "object" || value === null) return undefined;
  for (const item of Object.values(value)) {
    const found = firstObject(item as JsonValue, madeFrom);
    if (found !== undefined) return found;
  }
  return undefined;
}

function ownObject(message: JsonValue, madeFrom: readonly string[]): string | undefined {
  if (!isJsonObject(message)) return undefined;
  const { metadata, name } = message as {
    readonly name?: JsonValue;
    readonly metadata?: { readonly filterMetadata?: { readonly istio?: JsonObject } };
  };
  const config = metadata?.filterMetadata?.istio?.["config"];
  if (typeof config !== "string") return undefined;
  return routeOf(config, name, madeFrom) ?? objectOf(config);
}

/**
 * Routes of the Gateway API are VirtualServices in istiod, with `~` in their names, as no object of a user has it; the route itself has
 * the name `NAMESPACE.NAME.RULE`.
 */
function routeOf(config: string, name: JsonValue | undefined, madeFrom: readonly string[]): string | undefined {
  const [, namespace, route] = /^([^.]+)\.(.+)\.\d+$/.exec(typeof name === "string" ? name : "") ?? [];
  if (!config.includes("~") || namespace === undefined || route === undefined) return undefined;
  const kind = ["HTTPRoute", "GRPCRoute"].find((one) => madeFrom.includes(`${one}/${namespace}/${route}`));
  return kind === undefined ? `HTTPRoute or GRPCRoute ${route}.${namespace}` : objectText([kind, namespace, route]);
}

/** `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/reviews` is how Istio names a VirtualService. */
function objectOf(config: string): string | undefined {
  const [, namespace, kind = "", name] = /\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(config) ?? [];
  const words = kind.split("-").map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return objectText([words.join(""), namespace, name]);
}

/** Rules of RBAC filters are named after the AuthorizationPolicy. */
function policyOf(path: string): string | undefined {
  const [, namespace, name] = /ns\[([^\]]*)\]-policy\[([^\]]*)\]/.exec(path) ?? [];
  return objectText(["AuthorizationPolicy", namespace, name]);
}

/** `outbound|80|v1|reviews.shop.svc.cluster.local` is a cluster of that host. */
function hostOf(name: string): string | undefined {
  const parts = name.split("|");
  return parts.length === 4 && parts[3] !== "" ? `host ${parts[3]}` : undefined;
}

function objectText([kind, namespace, name]: readonly (string | undefined)[]): string | undefined {
  return kind === undefined || namespace === undefined || name === undefined
    ? undefined
    : `${kind}/${name}.${namespace}`;
}
