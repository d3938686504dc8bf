/** The status of Gateway API objects as queries over `GatewayInputs`: a change recomputes what read it, and nothing else is written. */
import {
  type AttachedParent,
  attachRoute,
  type BackendTarget,
  type BackendTlsSpec,
  type BackendTrafficSpec,
  backendTlsStatus,
  backendTrafficStatus,
  certificateProblem,
  type ExternalBackendSpec,
  externalBackendOf,
  externalBackendStatus,
  type GatewayClassRules,
  type GatewayClassSpec,
  type GatewayPlan,
  type GatewayService,
  gatewayClassStatus,
  gatewayStatus,
  type HttpRouteSpec,
  isIgnoredPolicy,
  type KubernetesGatewaySpec,
  type ListenerPlan,
  type ListenerSetSpec,
  listenerSetStatus,
  planGateway,
  type ReferenceGrantSpec,
  type RouteContext,
  type RouteParent,
  rootsProblem,
  routeHead,
  routeParentStatuses,
  rulesOfController,
} from "@flotilla/gateway-api";
import type { Context, Query } from "@flotilla/incremental";
import { type Config, type ConfigKey, configKeyText, ownValue, parseConfigKey } from "@flotilla/model";
import { inputs, type Nobody, rows } from "./gateway-inputs.ts";
import type { ServiceFacts } from "./service-facts.ts";

type View = Context<Nobody>;

/** The fields of `status` that are ours; conditions come without time and generation. */
export type StatusFields = Readonly<Record<string, unknown>>;

const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** By `Kind/namespace/name`. Undefined: the object has no status of ours. */
export const statusQuery: Query<Nobody, string, StatusFields | undefined> = {
  name: "status",
  compute: (view, text) => {
    const key = parseConfigKey(text);
    const object = view.input(inputs.object(key));
    return object && computeStatus(view, object);
  },
  equal: sameText,
};

function computeStatus(view: View, object: Config): StatusFields | undefined {
  const { key, spec } = object;
  switch (key.kind) {
    case "GatewayClass": {
      const { controllerName = "" } = spec as GatewayClassSpec;
      return rulesOfController(classesOf(view), controllerName) && { ...gatewayClassStatus() };
    }
    case "KubernetesGateway": {
      const plan = view.read(planQuery, nameOf(key));
      return plan && { ...gatewayStatus(plan, statusLookups(view)) };
    }
    case "ListenerSet": {
      const plan = view.read(planQuery, parentOf(object as Config<ListenerSetSpec>));
      const set = plan?.sets.find((one) => nameOf(one.key) === nameOf(key));
      return plan && set && { ...listenerSetStatus(set, plan, statusLookups(view)) };
    }
    case "BackendTLSPolicy":
      return { ancestors: policyStatus(view, object as Config<BackendTlsSpec>) };
    case "XBackendTrafficPolicy":
      return { ancestors: backendTrafficStatus(object as Config<BackendTrafficSpec>) };
    case "XBackend": {
      const gateways = gatewaysTo(
        view,
        rows.usersOf("gateway.networking.x-k8s.io", "XBackend", key.namespace, key.name),
      );
      return { parents: externalBackendStatus(object as Config<ExternalBackendSpec>, gateways) };
    }
    default:
      return { parents: routeStatus(view, object as Config<HttpRouteSpec>) };
  }
}

function nameOf({ namespace, name }: ConfigKey): string {
  return `${namespace}/${name}`;
}

function parentOf({ key, spec: { parentRef } }: Config<ListenerSetSpec>): string {
  return `${parentRef?.namespace ?? key.namespace}/${parentRef?.name ?? ""}`;
}

function domainOf(view: View): string {
  return view.input(inputs.domain) ?? "cluster.local";
}

function classesOf(view: View): ReadonlyMap<string, GatewayClassRules> {
  return view.input(inputs.classes) ?? new Map();
}

function rowOf<Spec>(view: View, row: string): readonly Config<Spec>[] {
  return (view.input(inputs.row(row)) ?? []) as readonly Config<Spec>[];
}

/** By `namespace/name`. Undefined: there is none, or another controller has it. */
const planQuery: Query<Nobody, string, GatewayPlan | undefined> = {
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

function rootsFinding(view: View, ref: RootsRef): string | undefined {
  const facts = view.input(inputs.credential(ref.kind, ref.namespace, ref.name));
  return facts === undefined ? rootsProblem(ref, undefined) : facts.roots;
}

/** What a route attaches to. By `Kind/namespace/name`. */
const attachmentQuery: Query<Nobody, string, readonly AttachedParent[]> = {
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

interface ServiceEntrySpec {
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

/** How many routes each listener of a Gateway or ListenerSet has, by its name. By `Kind/namespace/name` as parents name it. */
const countQuery: Query<Nobody, string, ReadonlyMap<string, number>> = {
  name: "attached-routes",
  compute: (view, text) => {
    const { kind, namespace, name } = parseConfigKey(text);
    const counts = new Map<string, number>();
    for (const { key } of rowOf(view, rows.routesOf(kind, namespace, name))) {
      const parents = view
        .read(attachmentQuery, configKeyText(key))
        .filter(({ parent }) => parent.kind === kind && parent.namespace === namespace && parent.name === name);
      const listeners = parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener?.name ?? ""));
      for (const listener of new Set(listeners)) counts.set(listener, (counts.get(listener) ?? 0) + 1);
    }
    return counts;
  },
};

function statusLookups(view: View) {
  return {
    serviceOf: (hostname: string) => {
      const facts = view.input(inputs.service(hostname));
      return facts && gatewayService(facts);
    },
    attachedRoutes: ({ owner, name }: ListenerPlan) => {
      const kind = owner.kind === "KubernetesGateway" ? "Gateway" : owner.kind;
      return view.read(countQuery, configKeyText({ ...owner, kind })).get(name) ?? 0;
    },
  };
}

function gatewayService({ ports, targets, externalAddresses, isLoadBalancer }: ServiceFacts): GatewayService {
  const served = ports.filter(({ name }) => (ownValue(targets, name) ?? []).length > 0);
  const pairs = served.flatMap(({ name, number }) =>
    (ownValue(targets, name) ?? []).map((target) => ({ target, number })),
  );
  const grouped = Map.groupBy(pairs, ({ target }) => target);
  return {
    servedPorts: served.map(({ number }) => number),
    portsByTarget: new Map([...grouped].map(([target, of]) => [target, of.map(({ number }) => number)])),
    ...{ externalAddresses, isLoadBalancer },
  };
}

function routeStatus(view: View, route: Config<HttpRouteSpec>) {
  const head = routeHead(route.key, route.spec);
  const attached = view.read(attachmentQuery, configKeyText(route.key));
  return routeParentStatuses(route, head.problem, attached, (place) => contextOf(view, route.key, place));
}

function contextOf(view: View, { kind, namespace }: ConfigKey, place: "mesh" | "gateway"): RouteContext {
  const grantsIn = (home: string) => rowOf<ReferenceGrantSpec>(view, rows.grantsIn(home));
  return {
    namespace,
    domain: domainOf(view),
    hasService: (hostname) => view.input(inputs.service(hostname)) !== undefined,
    externalBackend: (home, name) => {
      const backend = view.input(inputs.object({ kind: "XBackend", namespace: home, name }));
      return backend && externalBackendOf(backend.spec as ExternalBackendSpec);
    },
    ...(place === "gateway" && { grants: { kind, grantsIn } }),
  };
}

/** The Gateways with a route to a back end, each once. */
function gatewaysTo(view: View, users: string): readonly { readonly namespace: string; readonly name: string }[] {
  const found = rowOf(view, users).flatMap(({ key }) =>
    view.read(attachmentQuery, configKeyText(key)).flatMap(({ parent: { kind, namespace, name } }) => {
      return kind === "Gateway" ? [{ namespace, name }] : [];
    }),
  );
  return [...new Map(found.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway])).values()];
}

function policyStatus(view: View, policy: Config<BackendTlsSpec>) {
  const all = rowOf<BackendTlsSpec>(view, rows.policiesIn(policy.key.namespace));
  return backendTlsStatus(
    policy,
    all.filter((one) => !isIgnoredPolicy(one)),
    {
      targetOf: (kind, namespace, name) => targetOf(view, { kind, namespace, name }),
      rootsProblem: (ref) => rootsFinding(view, ref),
      hasObject: (kind, namespace, name) => view.input(inputs.credential(kind, namespace, name)) !== undefined,
      gatewaysOf: (kind, namespace, name) => {
        const group = kind === "Service" ? "" : "networking.istio.io";
        return gatewaysTo(view, rows.usersOf(group, kind, namespace, name)).map((gateway) => gateway.name);
      },
    },
  );
}

function targetOf(view: View, { kind, namespace, name }: ConfigKey): BackendTarget | undefined {
  if (kind === "ServiceEntry") {
    const entry = view.input(inputs.object({ kind, namespace, name }))?.spec as ServiceEntrySpec | undefined;
    const ports = (entry?.ports ?? []).map((port) => ({ name: port.name ?? "", number: port.number ?? 0 }));
    return entry && { hosts: entry.hosts ?? [], ports };
  }
  const host = `${name}.${namespace}.svc.${domainOf(view)}`;
  const facts = view.input(inputs.service(host));
  return facts && { hosts: [host], ports: facts.ports };
}
