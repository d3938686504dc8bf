/** The part of a route that decides which hosts of the mesh it is for: its parents that are a Service or a ServiceEntry. */
import type { ConfigKey } from "@flotilla/model";
import { DurationSchema, fromJson, withSeconds } from "@flotilla/proto";
import { backendProblem } from "./backends.ts";
import { backendFilters, ruleFilters } from "./http-filters.ts";
import type { HttpRouteSpec, HttpRule, ParentRef, RouteFilter } from "./route-spec.ts";

export interface MeshParent {
  readonly kind: "Service" | "ServiceEntry";
  readonly namespace: string;
  readonly name: string;
  /** 0: all ports. */
  readonly port: number;
}

export interface MeshRouteHead {
  readonly parents: readonly MeshParent[];
  readonly hasRules: boolean;
  /** Why the whole route is not followed; "" when it is. */
  readonly problem: string;
}

export function meshRouteHead({ namespace }: ConfigKey, { parentRefs, rules = [] }: HttpRouteSpec): MeshRouteHead {
  return {
    parents: meshParents(parentRefs, namespace),
    hasRules: rules.length > 0,
    problem: problemOf(rules) ?? "",
  };
}

export function meshParents(refs: readonly ParentRef[] = [], home: string): readonly MeshParent[] {
  return refs.flatMap(({ group, kind, namespace = home, name = "", port = 0 }) => {
    if (group === "" && kind === "Service") return { kind, namespace, name, port };
    return group === "networking.istio.io" && kind === "ServiceEntry" ? { kind, namespace, name, port } : [];
  });
}

/** One rule that cannot be followed refuses its route. */
function problemOf(rules: readonly HttpRule[]): string | undefined {
  for (const [index, rule] of rules.entries()) {
    const problem = ruleProblem(rule);
    if (problem !== undefined) return `rule ${index}: ${problem}`;
  }
  return undefined;
}

function ruleProblem(rule: HttpRule): string | undefined {
  const { backendRefs = [], filters = [] } = rule;
  for (const ref of backendRefs) {
    const problem = backendProblem(ref) ?? filterProblem(ref.filters ?? [], backendFilters);
    if (problem !== undefined) return problem;
  }
  return filterProblem(filters, ruleFilters) ?? durationProblem(rule);
}

function filterProblem(filters: readonly RouteFilter[], known: ReadonlySet<string>): string | undefined {
  const other = filters.find(({ type = "" }) => !known.has(type));
  return other && `filter ${other.type ?? "without a type"} is not supported here`;
}

function durationProblem({ timeouts, retry }: HttpRule): string | undefined {
  const texts = [timeouts?.request, timeouts?.backendRequest, retry?.backoff].filter((text) => text !== undefined);
  const wrong = texts.find((text) => !isDuration(text));
  return wrong === undefined ? undefined : `"${wrong}" is not a duration`;
}

function isDuration(text: string): boolean {
  try {
    fromJson(DurationSchema, withSeconds(DurationSchema, text));
    return true;
  } catch {
    return false;
  }
}
