/** Status of routes: one entry for each parent that is served from here. Source: corpus gateway-api (http, invalid, route-binding). */
import type { Config } from "@flotilla/model";
import { type RouteContext, resolveBackend } from "./backends.ts";
import { type Condition, condition, gatewayController, type Problem } from "./conditions.ts";
import type { AttachedParent } from "./route-attachments.ts";
import { isMeshParent, type RouteHead } from "./route-head.ts";
import type { HttpRouteSpec, ParentRef } from "./route-spec.ts";

export interface ParentStatus {
  readonly controllerName: string;
  readonly parentRef: ParentRef;
  readonly conditions: readonly Condition[];
}

/** @param contextOf what references depend on, for callers in the mesh or for gateways */
export function routeParentStatuses(
  { spec }: Config<HttpRouteSpec>,
  problem: RouteHead["problem"],
  parents: readonly AttachedParent[],
  contextOf: (place: "mesh" | "gateway") => RouteContext,
): readonly ParentStatus[] {
  const unresolved = (place: "mesh" | "gateway") => problem ?? unresolvedBackend(spec, contextOf(place));
  return parents.map(({ parent, attachments, problem: refused }) => ({
    controllerName: gatewayController,
    parentRef: parent.ref,
    conditions: [
      condition(
        "Accepted",
        { reason: "Accepted", message: acceptedMessage(isMeshParent(parent) ? 1 : attachments.length) },
        refused,
      ),
      condition(
        "ResolvedRefs",
        { reason: "ResolvedRefs", message: "All references resolved" },
        unresolved(isMeshParent(parent) ? "mesh" : "gateway"),
      ),
    ],
  }));
}

function acceptedMessage(count: number): string {
  return count > 1 ? `Route was valid, bound to ${count} parents` : "Route was valid";
}

/** Of several that cannot be resolved the last is reported, as istiod does. */
function unresolvedBackend({ rules = [] }: HttpRouteSpec, context: RouteContext): Problem | undefined {
  const refs = rules.flatMap(({ backendRefs = [], filters = [] }) => [
    ...filters.flatMap(({ requestMirror }) => requestMirror?.backendRef ?? []),
    ...backendRefs.filter(({ weight = 1 }) => weight > 0),
  ]);
  return refs.map((ref) => resolveBackend(ref, context).problem).findLast((problem) => problem !== undefined);
}
