/** Status of objects about the ambient mesh: the waypoint that they are bound to, and the proxies that enforce a policy. */
import type { AuthorizationPolicy } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import type { TranslatedPolicy } from "./authorization.ts";
import type { Binding } from "./binding.ts";
import type { EntryVisibility } from "./visibility.ts";

/** A condition, as far as it is computed. */
export interface AmbientCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** All that are written here: one that is not among those of an object is taken away from it. */
export const ambientConditionTypes: ReadonlySet<string> = new Set([
  "istio.io/WaypointBound",
  "istio.io/WaypointMissing",
  "istio.io/VisibilityApplied",
  "ZtunnelAccepted",
  "WaypointAccepted",
]);

export interface BoundService {
  readonly binding: Binding;
  /** Undefined where neither the object nor its namespace names the ingress. */
  readonly ingressUsesWaypoint: boolean | undefined;
  /** Of ServiceEntries. */
  readonly entry?: {
    readonly hosts: readonly string[];
    /** It has a connect strategy that only a waypoint carries out. */
    readonly racesConnections: boolean;
    /** Undefined where MeshConfig has no `serviceEntryVisibility`. */
    readonly visibility: EntryVisibility | undefined;
  };
}

export function serviceConditions({ binding, ingressUsesWaypoint, entry }: BoundService): readonly AmbientCondition[] {
  const ingress = ingressText(ingressUsesWaypoint);
  return [
    ...boundCondition(binding, ingress),
    ...(entry !== undefined && binding.waypoint === undefined ? missingCondition(entry) : []),
    ...(entry?.visibility === undefined ? [] : [visibilityCondition(entry.visibility)]),
  ];
}

export function workloadConditions(binding: Binding): readonly AmbientCondition[] {
  return boundCondition(binding, "");
}

/** Reports features of an entry that need a waypoint; of two reasons istiod shows the strategy. */
function missingCondition({
  hosts,
  racesConnections,
}: NonNullable<BoundService["entry"]>): readonly AmbientCondition[] {
  const condition = (reason: string, message: string): readonly AmbientCondition[] => [
    { type: "istio.io/WaypointMissing", status: "True", reason, message },
  ];
  if (racesConnections)
    return condition(
      "NoWaypointForRacingConnectStrategy",
      "ServiceEntry has a non-default connect strategy but no waypoint bound. A waypoint is required for connect strategies to take effect for ambient clients.",
    );
  if (!hosts.some((host) => host.startsWith("*"))) return [];
  return condition(
    "NoWaypointForWildcardService",
    "ServiceEntry will not apply until it is bound to a valid waypoint.",
  );
}

function boundCondition({ waypoint, problem }: Binding, ingress: string): readonly AmbientCondition[] {
  const type = "istio.io/WaypointBound";
  if (waypoint === undefined) return problem === undefined ? [] : [{ type, status: "False", ...problem }];
  const canary = problem === undefined ? "" : `. Canary waypoint not attached: ${problem.message}`;
  const message = `Successfully attached to waypoint ${waypoint.namespace}/${waypoint.name}${ingress}${canary}`;
  return [{ type, status: "True", reason: "WaypointAccepted", message }];
}

function ingressText(usesWaypoint: boolean | undefined): string {
  if (usesWaypoint === undefined) return "";
  return usesWaypoint
    ? ". Ingress traffic will traverse the waypoint"
    : ". Ingress traffic is not using the waypoint, set the istio.io/ingress-use-waypoint label to true if desired.";
}

function visibilityCondition(visibility: EntryVisibility): AmbientCondition {
  const isLimited = visibility === "namespace";
  const message = isLimited
    ? "ServiceEntry is visible only within its own namespace (NAMESPACE), per mesh serviceEntryVisibility."
    : "ServiceEntry is visible to the entire mesh (PUBLIC).";
  return {
    ...{ type: "istio.io/VisibilityApplied", status: "True", message },
    reason: isLimited ? "Namespace" : "Public",
  };
}

/** Of a policy that ztunnels are to enforce; none where it is only tried. */
export function ztunnelCondition({ authorization, problem }: TranslatedPolicy): readonly AmbientCondition[] {
  const type = "ZtunnelAccepted";
  const status = authorization === undefined ? "False" : "True";
  // The rest of the policy is enforced.
  if (problem !== undefined) return [{ type, status, reason: "UnsupportedValue", message: problem }];
  return authorization === undefined ? [] : [{ type, status, reason: "Accepted", message: "attached to ztunnel" }];
}

/** A target of a policy, and the waypoint that enforces it there, or why none does. */
export interface PolicyTarget {
  /** `Kind.group:namespace/name`. */
  readonly ancestor: string;
  readonly isBound: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Conditions of a policy with targets; with several targets, those that hold for all. */
export function waypointCondition(targets: readonly PolicyTarget[]): readonly AmbientCondition[] {
  const [only, ...more] = targets;
  if (only === undefined) return [];
  const condition = (isBound: boolean, reason: string, message: string): AmbientCondition => ({
    ...{ type: "WaypointAccepted", status: isBound ? "True" : "False" },
    ...{ reason, message },
  });
  if (more.length === 0) return [condition(only.isBound, only.reason, only.message)];
  const unbound = targets.filter(({ isBound }) => !isBound).map(({ ancestor }) => ancestor);
  const isBound = unbound.length < targets.length;
  const message = unbound.length === 0 ? "" : `Invalid targetRefs: ${unbound.join(", ")}`;
  if (!isBound) return [condition(false, "Invalid", message)];
  return [condition(true, unbound.length === 0 ? "Accepted" : "PartiallyInvalid", message)];
}

export interface TargetLookups {
  readonly rootNamespace: string;
  /** Of the GatewayClass; undefined: there is none. */
  readonly controllerOf: (gatewayClass: string) => string | undefined;
  /** True where the Gateway is a waypoint that can be reached. */
  readonly isWaypoint: (namespace: string, name: string) => boolean;
  /** Undefined: there is no such object. */
  readonly bindingOf: (kind: "Service" | "ServiceEntry", namespace: string, name: string) => Binding | undefined;
}

type TargetRef = AuthorizationPolicy["targetRefs"][number];

export function policyTargets(
  { targetRef, targetRefs }: AuthorizationPolicy,
  home: string,
  lookups: TargetLookups,
): readonly PolicyTarget[] {
  const refs = targetRefs.length > 0 ? targetRefs : targetRef === undefined ? [] : [targetRef];
  return refs.map((ref) => {
    const namespace = ref.namespace || home;
    const ancestor = `${ref.kind}.${ref.group || "core"}:${namespace}/${ref.name}`;
    return { ancestor, ...targetState(ref, namespace, lookups) };
  });
}

type TargetState = Omit<PolicyTarget, "ancestor">;

function targetState({ kind, name }: TargetRef, namespace: string, lookups: TargetLookups): TargetState {
  switch (kind) {
    case "GatewayClass":
      return classState(name, namespace, lookups);
    case "Gateway":
      return lookups.isWaypoint(namespace, name) ? boundTo(`${namespace}/${name}`) : notFound("not bound");
    case "Service":
    case "ServiceEntry": {
      const binding = lookups.bindingOf(kind, namespace, name);
      const object = `${kind} ${namespace}/${name}`;
      if (binding === undefined) return notFound(`${object} was not found`);
      const { waypoint } = binding;
      if (waypoint !== undefined) return boundTo(`${waypoint.namespace}/${waypoint.name}`);
      return { isBound: false, reason: "AncestorNotBound", message: `${object} is not bound to a waypoint` };
    }
    default:
      return { isBound: false, reason: "unknown", message: "not bound" };
  }
}

const meshController = "istio.io/mesh-controller";

function classState(name: string, namespace: string, { rootNamespace, controllerOf }: TargetLookups): TargetState {
  const invalid = (message: string) => ({ isBound: false, reason: "Invalid", message });
  if (namespace !== rootNamespace)
    return invalid(
      `AuthorizationPolicy must be in the root namespace \`${rootNamespace}\` when referencing a GatewayClass`,
    );
  const controller = controllerOf(name);
  if (controller === undefined) return notFound("not bound");
  if (controller !== meshController)
    return invalid(`GatewayClass must use controller name \`${meshController}\` for waypoints`);
  return boundTo(name);
}

function boundTo(what: string): TargetState {
  return { isBound: true, reason: "Accepted", message: `bound to ${what}` };
}

function notFound(message: string): TargetState {
  return { isBound: false, reason: "TargetNotFound", message };
}
