/** Differences between the resources that two control planes send to a proxy, with the object that each comes from. Pure. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { compareResources, parseRules } from "@flotilla/xds/compare";
import type { Capture } from "./own-side.ts";

export interface FieldDifference {
  /** As Envoy's protojson has it: `virtualHosts[0].routes[1].route.timeout`. */
  readonly path: string;
  readonly istiod?: JsonValue;
  readonly flotilla?: JsonValue;
}

export interface ResourceDifference {
  /** `cds`, `rds` … */
  readonly type: string;
  readonly name: string;
  readonly outcome: "different" | "only istiod" | "only flotilla";
  /** `VirtualService/reviews.shop`, or the host of a service; undefined where the resource names nothing. */
  readonly object: string | undefined;
  readonly fields: readonly FieldDifference[];
}

export interface ProxyDifferences {
  readonly proxy: string;
  readonly resources: number;
  readonly identical: number;
  readonly differences: readonly ResourceDifference[];
}

/** Lists without an order in istiod itself, and a counter of the Kubernetes API. */
const rules = parseRules(`
**.ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION
unordered eds/endpoints[*].lbEndpoints
unordered **.match.queryParameters
unordered **.match.dynamicMetadata
`);

/** Types that istiod does not answer are left out. */
export function differencesOf(proxy: string, istiod: Capture, flotilla: Capture): ProxyDifferences {
  const differences: ResourceDifference[] = [];
  let resources = 0;
  for (const [type, wanted] of istiod) {
    const got = flotilla.get(type) ?? new Map<string, JsonObject>();
    for (const name of [...new Set([...wanted.keys(), ...got.keys()])].sort()) {
      resources++;
      const found = differenceOf(type, name, wanted.get(name), got.get(name));
      if (found !== undefined) differences.push(found);
    }
  }
  return { proxy, resources, identical: resources - differences.length, differences };
}

function differenceOf(
  type: string,
  name: string,
  want: JsonObject | undefined,
  got: JsonObject | undefined,
): ResourceDifference | undefined {
  const present = want ?? got;
  if (present === undefined) return undefined;
  const place = { type, name };
  if (want === undefined || got === undefined) {
    const outcome = got === undefined ? "only istiod" : "only flotilla";
    return { ...place, outcome, object: firstObject(present) ?? hostOf(name), fields: [] };
  }
  const found = compareResources(type, want, got, rules);
  if (found.length === 0) return undefined;
  const fields = found.map(({ path, want: istiod, got: flotilla }) => ({
    path,
    ...(istiod !== undefined && { istiod }),
    ...(flotilla !== undefined && { flotilla }),
  }));
  const around = found.map(({ path }) => objectAt(want, path) ?? objectAt(got, path) ?? policyOf(path));
  const inside = found.map(({ want: istiod, got: flotilla }) => policyOf(JSON.stringify([istiod, flotilla])));
  const object = [...around, ...inside].find((one) => one !== undefined) ?? firstObject(want) ?? hostOf(name);
  return { ...place, outcome: "different", object, fields };
}

/** The object that the innermost message around the path names. */
function objectAt(resource: JsonObject, path: string): string | undefined {
  const around: JsonValue[] = [resource];
  for (const key of path.match(/\["[^"]*"\]|[^.[\]]+/g) ?? []) {
    const last = around.at(-1);
    if (typeof last !== "object" || last === null) break;
    const next = (last as Readonly<Record<string, JsonValue>>)[key.startsWith("[") ? key.slice(2, -2) : key];
    if (next === undefined) break;
    around.push(next);
  }
  for (const message of around.reverse()) {
    const named = ownObject(message);
    if (named !== undefined) return named;
  }
  return undefined;
}

function ownObject(message: JsonValue): string | undefined {
  if (typeof message !== "object" || message === null || Array.isArray(message)) return undefined;
  const { metadata } = message as { readonly metadata?: { readonly filterMetadata?: { readonly istio?: JsonObject } } };
  const config = metadata?.filterMetadata?.istio?.["config"];
  return typeof config === "string" ? objectOf(config) : undefined;
}

function firstObject(value: JsonValue): string | undefined {
  const own = ownObject(value);
  if (own !== undefined) return own;
  if (typeof value !== "object" || value === null) return undefined;
  for (const item of Object.values(value)) {
    const found = firstObject(item as JsonValue);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/reviews` is how Istio names a VirtualService. */
function objectOf(config: string): string | undefined {
  const [, namespace, kind, name] = /\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(config) ?? [];
  if (namespace === undefined || kind === undefined || name === undefined) return undefined;
  const words = kind.split("-").map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return `${words.join("")}/${name}.${namespace}`;
}

/** Rules of RBAC filters are named after the AuthorizationPolicy. */
function policyOf(path: string): string | undefined {
  const [, namespace, name] = /ns\[([^\]]*)\]-policy\[([^\]]*)\]/.exec(path) ?? [];
  return name === undefined ? undefined : `AuthorizationPolicy/${name}.${namespace}`;
}

/** `outbound|80|v1|reviews.shop.svc.cluster.local` is a cluster of that host. */
function hostOf(name: string): string | undefined {
  const parts = name.split("|");
  return parts.length === 4 && parts[3] !== "" ? `host ${parts[3]}` : undefined;
}
