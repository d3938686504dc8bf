/** The part of a route that decides which hosts it is for: its parents and host names, but not its rules. */

import type { ConfigKey } from "@flotilla/model";
import { DurationSchema, fromJson, withSeconds } from "@flotilla/proto";
import { backendProblem } from "./backends.ts";
import type { Problem } from "./conditions.ts";
import { gatewayGroup } from "./gateway-spec.ts";
import { backendFilters, ruleFilters } from "./http-filters.ts";
import type { HttpRouteSpec, HttpRule, ParentRef, RouteFilter } from "./route-spec.ts";

export interface RouteParent {
  readonly kind: "Service" | "ServiceEntry" | "Gateway" | "ListenerSet";
  readonly namespace: string;
  readonly name: string;
  /** "": all sections. */
  readonly section: string;
  /** 0: all ports. */
  readonly port: number;
  /** As the route has it. */
  readonly ref: ParentRef;
}

export interface RouteHead {
  readonly parents: readonly RouteParent[];
  readonly hostnames: readonly string[];
  readonly hasRules: boolean;
  /** Why the whole route is not followed. */
  readonly problem?: Problem;
}

export function routeHead(
  { namespace }: ConfigKey,
  { parentRefs, hostnames = [], rules = [] }: HttpRouteSpec,
): RouteHead {
  const problem = problemOf(rules);
  return {
    parents: routeParents(parentRefs, namespace),
    hostnames,
    hasRules: rules.length > 0,
    ...(problem && { problem }),
  };
}

const groups = {
  Service: "",
  ServiceEntry: "networking.istio.io",
  Gateway: gatewayGroup,
  ListenerSet: gatewayGroup,
} as const;

/** References to anything else are another controller's. One that is there twice counts once. */
export function routeParents(refs: readonly ParentRef[] = [], home: string): readonly RouteParent[] {
  const parents = refs.flatMap((ref): RouteParent[] => {
    const {
      group = gatewayGroup,
      kind = "Gateway",
      namespace = home,
      name = "",
      sectionName: section = "",
      port = 0,
    } = ref;
    return isParentKind(kind) && groups[kind] === group ? [{ kind, namespace, name, section, port, ref }] : [];
  });
  return [...new Map(parents.map((parent) => [parentText(parent), parent])).values()];
}

function isParentKind(kind: string): kind is RouteParent["kind"] {
  return Object.hasOwn(groups, kind);
}

/** True where the parent is in the mesh: its callers follow the route, not a gateway. */
export function isMeshParent({ kind }: RouteParent): boolean {
  return kind === "Service" || kind === "ServiceEntry";
}

/** Equal for equal parents; the status of a route lists them in descending order of it, as istiod does. */
export function parentText({ kind, namespace, name, section, port }: RouteParent): string {
  return `${groups[kind]}/${kind}/${name}/${section}/${port}.${namespace}`;
}

/** One rule that cannot be followed refuses its route. */
function problemOf(rules: readonly HttpRule[]): Problem | undefined {
  for (const rule of rules) {
    const problem = ruleProblem(rule);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function ruleProblem(rule: HttpRule): Problem | undefined {
  const { backendRefs = [], filters = [] } = rule;
  for (const ref of backendRefs) {
    const problem = backendProblem(ref) ?? filterProblem(ref.filters ?? [], backendFilters);
    if (problem !== undefined) return problem;
  }
  return filterProblem(filters, ruleFilters) ?? durationProblem(rule);
}

function filterProblem(filters: readonly RouteFilter[], known: ReadonlySet<string>): Problem | undefined {
  const other = filters.find(({ type = "" }) => !known.has(type));
  if (other !== undefined) return { reason: "InvalidFilter", message: `unsupported filter type "${other.type ?? ""}"` };
  const header = filters.flatMap(writtenHeaders).find(({ value = "" }) => [...value].some(isForbiddenInHeaders));
  return header && { reason: "InvalidFilter", message: `header "${header.name}" value contains invalid characters` };
}

/** Control characters but the tab: Envoy would refuse the whole route configuration. */
function isForbiddenInHeaders(character: string): boolean {
  return character !== "\t" && (character < " " || character === "\x7f");
}

function writtenHeaders({ requestHeaderModifier: request, responseHeaderModifier: response }: RouteFilter) {
  return [request, response].flatMap((modifier) => [...(modifier?.set ?? []), ...(modifier?.add ?? [])]);
}

function durationProblem({ timeouts, retry, sessionPersistence }: HttpRule): Problem | undefined {
  const lifetime = sessionPersistence?.absoluteTimeout;
  const texts = [timeouts?.request, timeouts?.backendRequest, retry?.backoff, lifetime].filter(
    (text) => text !== undefined,
  );
  const wrong = texts.find((text) => !isDuration(text));
  return wrong === undefined ? undefined : { reason: "UnsupportedValue", message: `"${wrong}" is not a duration` };
}

function isDuration(text: string): boolean {
  try {
    fromJson(DurationSchema, withSeconds(DurationSchema, text));
    return true;
  } catch {
    return false;
  }
}
