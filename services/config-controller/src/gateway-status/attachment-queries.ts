/** Listeners of Gateways and attachments of routes, as queries over `GatewayInputs`. */
import {
  type AttachedParent,
  attachRoute,
  certificateProblem,
  type GatewayClassRules,
  type GatewayClassSpec,
  type GatewayPlan,
  type HttpRouteSpec,
  type KubernetesGatewaySpec,
  type ListenerPlan,
  type ListenerSetSpec,
  planGateway,
  type ReferenceGrantSpec,
  type RouteParent,
  rootsProblem,
  routeHead,
} from "@flotilla/gateway-api";
import type { Context, Query } from "@flotilla/incremental";
import { type Config, type ConfigKey, parseConfigKey } from "@flotilla/model";
import { inputs, type NoSubject, rows } from "./gateway-inputs.ts";

export type View = Context<NoSubject>;

export const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function nameOf({ namespace, name }: ConfigKey): string {
  return `${namespace}/${name}`;
}

export function parentOf({ key, spec: { parentRef } }: Config<ListenerSetSpec>): string {
  return `${parentRef?.namespace ?? key.namespace}/${parentRef?.name ?? ""}`;
}

export function domainOf(view: View): string {
  return view.input(inputs.domain) ?? "cluster.local";
}

export function classesOf(view: View): ReadonlyMap<string, GatewayClassRules> {
  return view.input(inputs.classes) ?? new Map();
}

export function rowOf<Spec>(view: View, row: string): readonly Config<Spec>[] {
  return (view.input(inputs.row(row)) ?? []) as readonly Config<Spec>[];
}

/** By `namespace/name`. Undefined: there is none, or another controller has it. */
export const planQuery: Query<NoSubject, string, GatewayPlan | undefined> = {
  name: "plan",
  compute: (view, text) => {
    const gateway = view.input(inputs.object(parseConfigKey(`KubernetesGateway/${text}`)));
    if (gateway === undefined) return undefined;
    const sets = rowOf<ListenerSetSpec>(view, rows.setsOf(gateway.key.namespace, gateway.key.name));
    return planGateway(gateway as Config<KubernetesGatewaySpec>, sets, {
      domain: domainOf(view),
      classes: classesOf(view),
      controllerOf: (name) => {
        const found = view.input(inputs.object({ kind: "GatewayClass", namespace: "", name }));
        return (found?.spec as GatewayClassSpec | undefined)?.controllerName;
      },
      hasConfigMap: (namespace, name) => view.input(inputs.credential("ConfigMap", namespace, name)) !== undefined,
      parametersProblem: (namespace, name) => view.input(inputs.credential("ConfigMap", namespace, name))?.parameters,
      namespaces: () => rowOf(view, rows.namespaces).map(({ key, labels }) => ({ name: key.name, labels })),
      certificateProblem: (namespace, name) => {
        const facts = view.input(inputs.credential("Secret", namespace, name));
        return facts === undefined ? certificateProblem(namespace, name, undefined) : facts.certificate;
      },
      rootsProblem: (ref) => rootsFinding(view, ref),
      grantsIn: (namespace) => rowOf<ReferenceGrantSpec>(view, rows.grantsIn(namespace)),
    });
  },
  equal: sameText,
};

interface RootsRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function rootsFinding(view: View, ref: RootsRef): string | undefined {
  const facts = view.input(inputs.credential(ref.kind, ref.namespace, ref.name));
  return facts === undefined ? rootsProblem(ref, undefined) : facts.roots;
}

/** The parents that a route attaches to. By `Kind/namespace/name`. */
export const attachmentQuery: Query<NoSubject, string, readonly AttachedParent[]> = {
  name: "attachments",
  compute: (view, text) => {
    const route = view.input(inputs.object(parseConfigKey(text))) as Config<HttpRouteSpec> | undefined;
    if (route === undefined) return [];
    return attachRoute(
      { ...route, spec: routeHead(route.key, route.spec) },
      { listenersOf: (parent) => listenersOf(view, parent), hostsOf: (parent) => hostsOf(view, parent) },
    );
  },
  equal: sameText,
};

function listenersOf(view: View, { kind, namespace, name }: RouteParent): readonly ListenerPlan[] | undefined {
  if (kind === "Gateway") return view.read(planQuery, `${namespace}/${name}`)?.listeners;
  const set = view.input(inputs.object({ kind: "ListenerSet", namespace, name }));
  if (set === undefined) return undefined;
  const plan = view.read(planQuery, parentOf(set as Config<ListenerSetSpec>));
  return plan?.sets.find(({ key }) => nameOf(key) === `${namespace}/${name}`)?.listeners;
}

export interface ServiceEntrySpec {
  readonly hosts?: readonly string[];
  readonly ports?: readonly { readonly name?: string; readonly number?: number }[];
}

const waypointLabel = "istio.io/use-waypoint";

/** Callers of a ServiceEntry with a waypoint of another controller follow that controller's routes. */
function hostsOf(view: View, { kind, namespace, name }: RouteParent): readonly string[] | string | undefined {
  if (kind === "Service") {
    const host = `${name}.${namespace}.svc.${domainOf(view)}`;
    return view.input(inputs.service(host)) === undefined ? `parent service: "${name}" not found` : [host];
  }
  const entry = view.input(inputs.object({ kind: "ServiceEntry", namespace, name }));
  if (entry === undefined) return `parent service entry: "${name}" not found`;
  const waypoint = entry.labels[waypointLabel];
  const isForeign = waypoint !== undefined && view.read(planQuery, `${namespace}/${waypoint}`) === undefined;
  return isForeign ? undefined : ((entry.spec as ServiceEntrySpec).hosts ?? []);
}
