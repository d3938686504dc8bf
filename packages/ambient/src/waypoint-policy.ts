/** The policy that makes callers go through a waypoint: it allows the waypoint's own identities alone. */
import { Action, Scope } from "@flotilla/proto/istio/security/authorization_pb";
import type { AuthorizationInit } from "./authorization.ts";

interface WaypointName {
  readonly namespace: string;
  readonly name: string;
}

const prefix = "istio_allow_waypoint_";

/** Kubernetes allows no `_` in names, so that no object has this one. */
export function waypointPolicyName({ namespace, name }: WaypointName): string {
  return `${prefix}${namespace}_${name}`;
}

/** Undefined for the names of other policies. */
export function waypointOfPolicy({ namespace, name }: WaypointName): WaypointName | undefined {
  const start = `${prefix}${namespace}_`;
  return name.startsWith(start) ? { namespace, name: name.slice(start.length) } : undefined;
}

/** Undefined without identities: it would allow no caller. */
export function waypointPolicy(waypoint: WaypointName, principals: readonly string[]): AuthorizationInit | undefined {
  if (principals.length === 0) return undefined;
  return {
    name: waypointPolicyName(waypoint),
    namespace: waypoint.namespace,
    scope: Scope.WORKLOAD_SELECTOR,
    action: Action.ALLOW,
    groups: [
      {
        rules: [
          { matches: [{ principals: principals.map((value) => ({ matchType: { case: "exact" as const, value } })) }] },
        ],
      },
    ],
  };
}
