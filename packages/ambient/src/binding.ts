/**
 * The waypoint that a service or workload is bound to, by `istio.io/use-waypoint` on the object or its namespace, and the reason where it
 * is not bound to the one that it names. Source: Istio's label reference, corpus ambient.
 */
import { type Labels, ownValue, type Workload } from "@flotilla/model";
import { mayAttach, type Waypoint } from "./waypoint.ts";

const waypointLabel = "istio.io/use-waypoint";
const waypointNamespaceLabel = "istio.io/use-waypoint-namespace";
const canaryLabel = "istio.io/use-waypoint-canary";
const canaryNamespaceLabel = "istio.io/use-waypoint-canary-namespace";
const canaryWeightAnnotation = "istio.io/use-waypoint-canary-weight";
const managedLabel = "gateway.istio.io/managed";
/** Controllers of waypoints and of east-west gateways. */
const directControllers: ReadonlySet<string> = new Set(["istio.io-mesh-controller", "istio.io-eastwest-controller"]);
export const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

export interface WaypointName {
  readonly namespace: string;
  readonly name: string;
}

/** Fields of an object or a namespace that a binding depends on. */
export interface Labelled {
  readonly labels: Labels;
  readonly annotations: Labels;
}

/** The reason for which an object is not bound to the waypoint that it names; reasons are those of its condition `istio.io/WaypointBound`. */
export interface BindingProblem {
  readonly reason: string;
  readonly message: string;
}

export interface Binding {
  readonly waypoint?: Waypoint;
  /** A second waypoint with a share of the load in percent. */
  readonly canary?: { readonly waypoint: Waypoint; readonly weight: number };
  readonly problem?: BindingProblem;
}

export interface BindingLookups {
  readonly waypoint: (name: WaypointName) => Waypoint | undefined;
  /** Of the object's own namespace. */
  readonly home: Labelled;
}

/** The waypoint that an object names; `none`: it opts out, whatever its namespace names. An empty name is that of a waypoint that is missing. */
function wantedWaypoint(labels: Labels, namespace: string): WaypointName | "none" | undefined {
  const name = ownValue(labels, waypointLabel);
  if (name === undefined) return undefined;
  if (name === "none") return "none";
  return { namespace: ownValue(labels, waypointNamespaceLabel) ?? namespace, name };
}

interface Found {
  readonly waypoint?: Waypoint;
  readonly problem?: BindingProblem;
  /** It is the namespace that names it. */
  readonly isInherited?: boolean;
}

/** `namespaceOnly`: a waypoint of another namespace is refused. */
export function bindService(
  object: Labelled,
  namespace: string,
  lookups: BindingLookups,
  namespaceOnly = false,
): Binding {
  if (isCalledDirectly(object.labels)) return {};
  const found = findWaypoint(object.labels, namespace, lookups);
  const { waypoint } = found;
  if (waypoint === undefined) return found.problem === undefined ? {} : { problem: found.problem };
  if (waypoint.traffic !== "service" && waypoint.traffic !== "all")
    return { problem: unsupported(waypoint, "service") };
  if (namespaceOnly && waypoint.namespace !== namespace) return { problem: crossNamespace(waypoint) };
  return withCanary(waypoint, object, namespace, lookups);
}

/** True of the services and pods of waypoints and east-west gateways. */
export function isCalledDirectly(labels: Labels): boolean {
  return directControllers.has(ownValue(labels, managedLabel) ?? "");
}

/** The labels by which a workload is bound. */
export function bindingLabels({ kind, labels, bindingLabels: own }: Workload): Labels {
  return own ?? (kind === "ServiceEntry" ? {} : labels);
}

/** A namespace's waypoint for services alone is none for its workloads, and no mistake of theirs. */
export function bindWorkload(object: Pick<Labelled, "labels">, namespace: string, lookups: BindingLookups): Binding {
  const { waypoint, problem, isInherited } = findWaypoint(object.labels, namespace, lookups);
  if (waypoint === undefined) return problem === undefined ? {} : { problem };
  if (waypoint.traffic === "workload" || waypoint.traffic === "all") return { waypoint };
  return isInherited === true ? {} : { problem: unsupported(waypoint, "workload") };
}

function findWaypoint(labels: Labels, namespace: string, { waypoint: lookUp, home }: BindingLookups): Found {
  const own = wantedWaypoint(labels, namespace);
  const wanted = own ?? wantedWaypoint(home.labels, namespace);
  if (wanted === undefined || wanted === "none") return {};
  const waypoint = lookUp(wanted);
  if (waypoint === undefined) return { problem: missing(wanted) };
  if (!mayAttach(waypoint, namespace, home.labels)) return { problem: denied(waypoint) };
  return { waypoint, isInherited: own === undefined };
}

function withCanary(waypoint: Waypoint, object: Labelled, namespace: string, lookups: BindingLookups): Binding {
  const home = canaryHome(object.labels, lookups.home);
  const name = wantedCanary(object.labels, home.labels, namespace);
  if (name === undefined) return { waypoint };
  if (textOf(name) === textOf(waypoint)) return { waypoint, problem: sameWaypoint(name) };
  const weight = canaryWeight(object.annotations, home.annotations);
  if (weight === undefined) return { waypoint, problem: wrongWeight(name) };
  const canary = lookups.waypoint(name);
  if (canary === undefined) return { waypoint, problem: missing(name) };
  if (!mayAttach(canary, namespace, lookups.home.labels)) return { waypoint, problem: denied(canary) };
  if (canary.traffic !== "service" && canary.traffic !== "all")
    return { waypoint, problem: unsupported(canary, "service") };
  return { waypoint, canary: { waypoint: canary, weight } };
}

/** The namespace of an object that names a waypoint of its own decides on no second one for it. */
function canaryHome(labels: Labels, home: Labelled): Labelled {
  return ownValue(labels, waypointLabel) === undefined ? home : { labels: {}, annotations: {} };
}

/** The second waypoint that an object or its namespace names. */
export function wantedCanary(labels: Labels, namespaceLabels: Labels, namespace: string): WaypointName | undefined {
  const from = ownValue(labels, canaryLabel) === undefined ? namespaceLabels : labels;
  const name = ownValue(from, canaryLabel) ?? "";
  if (name === "" || name === "none") return undefined;
  return { namespace: ownValue(from, canaryNamespaceLabel) ?? namespace, name };
}

/** In percent, 0 without an annotation; undefined when it is no whole number of 0 to 100. */
export function canaryWeight(annotations: Labels, namespaceAnnotations: Labels): number | undefined {
  const text =
    ownValue(annotations, canaryWeightAnnotation) ?? ownValue(namespaceAnnotations, canaryWeightAnnotation) ?? "0";
  return /^\+?\d{1,9}$/.test(text) && Number(text) <= 100 ? Number(text) : undefined;
}

function textOf({ namespace, name }: WaypointName): string {
  return `"${namespace}/${name}"`;
}

function missing(name: WaypointName): BindingProblem {
  return { reason: "WaypointIsNotReady", message: `waypoint ${textOf(name)} is not ready` };
}

function denied(waypoint: WaypointName): BindingProblem {
  const message = `we are not permitted to attach to waypoint ${textOf(waypoint)} (missing allowedRoutes?)`;
  return { reason: "AttachmentDenied", message };
}

function unsupported(waypoint: WaypointName, traffic: "service" | "workload"): BindingProblem {
  const message = `attempting to bind to traffic type "${traffic}" which the waypoint ${textOf(waypoint)} does not support`;
  return { reason: "UnsupportedTrafficType", message };
}

export function crossNamespace(waypoint: WaypointName): BindingProblem {
  const why = "cross-namespace waypoint binding is not permitted for a ServiceEntry with NAMESPACE visibility";
  const message = `cannot bind to waypoint ${textOf(waypoint)} in another namespace: ${why}`;
  return { reason: "CrossNamespaceWaypointForbidden", message };
}

function sameWaypoint(name: WaypointName): BindingProblem {
  const message = `canary waypoint ${textOf(name)} must differ from the primary waypoint`;
  return { reason: "CanarySameAsPrimary", message };
}

function wrongWeight(name: WaypointName): BindingProblem {
  const message = `canary waypoint ${textOf(name)} has an invalid weight; must be an integer in [0,100]`;
  return { reason: "CanaryInvalidWeight", message };
}
