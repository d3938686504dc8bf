/** EnvoyFilters: patches of what proxies get, whose values are held against Envoy's types where those are given. */
import type { Problem } from "../problem.ts";
import { type Field, field, fieldAt, isSet, items, refuseIf, textOf, warnIf } from "./shared/field.ts";
import { selectorProblems } from "./shared/selectors.ts";
import { expressionReason } from "./shared/text-match.ts";

export function validateEnvoyFilter(spec: Field): readonly Problem[] {
  const reason = "patches Envoy's own configuration, which may change with any version of Envoy";
  return [
    ...warnIf(true, spec, reason),
    ...selectorProblems(field(spec, "workloadSelector"), "labels"),
    ...patchesOfProxies(spec).flatMap(patchProblems),
  ];
}

/** Why a value does not fit what it is applied to: a fault, or fields that are left out. Undefined where it fits. */
export type PatchValueCheck = (
  applyTo: string,
  value: unknown,
) => { readonly reason: string; readonly isFault: boolean } | undefined;

/** Problems that Envoy's types report about the values of an EnvoyFilter that has no other faults. */
export function patchValueProblems(spec: Field, check: PatchValueCheck): readonly Problem[] {
  return patchesOfProxies(spec).flatMap((member) => {
    const value = fieldAt(member, "patch", "value");
    const problem = isSet(value) ? check(textOf(field(member, "applyTo")), value.value) : undefined;
    if (problem === undefined) return [];
    return problem.isFault ? refuseIf(true, value, problem.reason) : warnIf(true, value, problem.reason);
  });
}

/** Patches for waypoints are not looked at: they have no effect. */
function patchesOfProxies(spec: Field): readonly Field[] {
  return items(spec, "configPatches").filter((patch) => textOf(fieldAt(patch, "match", "context")) !== "WAYPOINT");
}

function patchProblems(member: Field): readonly Problem[] {
  const applyTo = field(member, "applyTo");
  const patch = field(member, "patch");
  const operation = field(patch, "operation");
  const isMissing = (one: Field) => ["", "INVALID"].includes(textOf(one));
  if (isMissing(applyTo)) return refuseIf(true, applyTo, "is required");
  if (!isSet(patch)) return refuseIf(true, patch, "is required");
  if (isMissing(operation)) return refuseIf(true, operation, "is required");
  const value = field(patch, "value");
  return [
    ...refuseIf(
      textOf(operation) !== "REMOVE" && !isSet(value),
      value,
      `is required for operation ${textOf(operation)}`,
    ),
    ...versionProblems(fieldAt(member, "match", "proxy", "proxyVersion")),
    ...matchProblems(field(member, "match"), textOf(applyTo)),
    ...refuseIf(
      namesOldType(value.value),
      value,
      "names a type of Envoy's v2 API, which Envoy has no more: write its v3 type",
    ),
    ...warnIf(
      namedOnly.has(textOf(applyTo)) && textOf(field(value, "name")) !== "" && !hasConfig(value),
      value,
      "has no typed_config: Envoy finds filters by their types, not by their names",
    ),
    ...typeProblems(value),
  ];
}

const namedOnly: ReadonlySet<string> = new Set([
  "EXTENSION_CONFIG",
  "HTTP_FILTER",
  "LISTENER_FILTER",
  "NETWORK_FILTER",
]);

function typeProblems(value: Field): readonly Problem[] {
  return ["typed_config", "typedConfig"].flatMap((name) => {
    const config = field(value, name);
    return refuseIf(isSet(config) && textOf(field(config, "@type")) === "", config, "needs a type in @type");
  });
}

/** HTTP and network filters may have theirs fetched. */
function hasConfig(value: Field): boolean {
  const names = ["typed_config", "typedConfig", "config_discovery", "configDiscovery"];
  return names.some((name) => isSet(field(value, name)));
}

const maxVersionLength = 1024;

function versionProblems(version: Field): readonly Problem[] {
  const text = textOf(version);
  if (text === "") return [];
  if (text.length > maxVersionLength)
    return warnIf(true, version, `has more than ${maxVersionLength} characters and no effect`);
  const reason = expressionReason(text);
  return refuseIf(reason !== undefined, version, reason ?? "");
}

const listenerParts = ["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER", "HTTP_FILTER", "LISTENER_FILTER"];
const routeParts = ["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"];
const matchKinds = ["listener", "routeConfiguration", "cluster"];

function matchProblems(match: Field, applyTo: string): readonly Problem[] {
  const wanted = wantedMatch(applyTo);
  if (wanted === undefined) return [];
  const wrong = matchKinds.filter((name) => name !== wanted).map((name) => field(match, name));
  return [
    ...wrong.flatMap((one) => refuseIf(isSet(one), one, `cannot be matched for ${applyTo}, match ${wanted}`)),
    ...filterProblems(fieldAt(match, "listener", "filterChain", "filter"), applyTo),
  ];
}

function wantedMatch(applyTo: string): string | undefined {
  if (listenerParts.includes(applyTo)) return "listener";
  if (routeParts.includes(applyTo)) return "routeConfiguration";
  return applyTo === "CLUSTER" ? "cluster" : undefined;
}

const connectionManager = "envoy.filters.network.http_connection_manager";
/** Names that filters had once; Envoy finds filters by their types now. */
const oldNames: ReadonlyMap<string, string> = new Map([
  ["envoy.http_connection_manager", connectionManager],
  ["envoy.tcp_proxy", "envoy.filters.network.tcp_proxy"],
  ["envoy.router", "envoy.filters.http.router"],
  ["envoy.cors", "envoy.filters.http.cors"],
  ["envoy.fault", "envoy.filters.http.fault"],
  ["envoy.lua", "envoy.filters.http.lua"],
  ["envoy.ext_authz", "envoy.filters.http.ext_authz"],
  ["envoy.rate_limit", "envoy.filters.http.ratelimit"],
]);

function filterProblems(filter: Field, applyTo: string): readonly Problem[] {
  if (!isSet(filter)) return [];
  const name = field(filter, "name");
  const inner = field(filter, "subFilter");
  const isManager = [connectionManager, "envoy.http_connection_manager"].includes(textOf(name));
  return [
    ...warnIf(["LISTENER", "FILTER_CHAIN"].includes(applyTo), filter, `has no effect for ${applyTo}`),
    ...refuseIf(textOf(name) === "", name, "must not be empty"),
    ...oldNameProblems(name),
    ...(isSet(inner)
      ? [
          ...refuseIf(applyTo !== "HTTP_FILTER", inner, "can be matched for HTTP_FILTER only"),
          ...refuseIf(!isManager, inner, `can be matched within ${connectionManager} only`),
          ...refuseIf(textOf(field(inner, "name")) === "", field(inner, "name"), "must not be empty"),
          ...oldNameProblems(field(inner, "name")),
        ]
      : []),
  ];
}

function oldNameProblems(name: Field): readonly Problem[] {
  const now = oldNames.get(textOf(name));
  return warnIf(now !== undefined, name, `is an old name, write ${now}`);
}

/** True where a type of the API's second version is named anywhere; walks without recursion, since values may be deep. */
function namesOldType(value: unknown): boolean {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    for (const [name, inner] of Object.entries(next)) {
      if (
        name === "@type" &&
        typeof inner === "string" &&
        /^type\.googleapis\.com\/envoy\.(?:api\.v2|.*\.v2)\./.test(inner)
      )
        return true;
      open.push(inner);
    }
  }
  return false;
}
