/** Converts the objects of a case: the configuration that they stand for, and the status of each. */
import {
  type AttachedParent,
  type AttachedRoute,
  attachRoute,
  type BackendTlsSpec,
  type BackendTrafficSpec,
  backendTlsRules,
  backendTlsStatus,
  backendTrafficStatus,
  type ExternalBackendSpec,
  externalBackendRules,
  externalBackendStatus,
  type GatewayPlan,
  gatewayClassStatus,
  gatewayConfigs,
  gatewayStatus,
  type HttpRouteSpec,
  isIgnoredPolicy,
  type KubernetesGatewaySpec,
  type ListenerPlan,
  type ListenerSetSpec,
  listenerSetStatus,
  planGateway,
  planRouteVirtualServices,
  type RouteContext,
  type RouteParent,
  readRoute,
  routeHead,
  routeKinds,
  routeName,
  routeParentStatuses,
  routeVirtualServiceConfig,
  rulesOfController,
  withForeignEntries,
  withTrafficPolicies,
} from "@flotilla/gateway-api";
import { type Config, type ConfigKey, configKeyText } from "@flotilla/model";
import type { CaseWorld } from "./case-world.ts";

export interface Converted {
  readonly configs: readonly Config[];
  /** By key. */
  readonly status: ReadonlyMap<string, unknown>;
}

type Entries = { readonly parents?: never[]; readonly ancestors?: never[] } | undefined;

export function convert(world: CaseWorld): Converted {
  const plans = plansOf(world);
  const routes = routeKinds
    .flatMap((kind) => world.all<HttpRouteSpec>(kind))
    .map((route) => readRoute(route) as Config<HttpRouteSpec>);
  const attached = routes.map((route) => attachedRoute(world, plans, route));
  const status = new Map<string, unknown>();
  const setStatus = ({ key }: Pick<Config, "key">, value: unknown) => status.set(configKeyText(key), value);
  for (const one of world.all<{ controllerName?: string }>("GatewayClass"))
    if (rulesOfController(world.gatewayLookups.classes, one.spec.controllerName ?? ""))
      setStatus(one, gatewayClassStatus());
  setGatewayStatus(world, plans, attached, setStatus);
  for (const [index, route] of routes.entries())
    setRouteStatus(world, route, attached[index] as AttachedRoute, setStatus);
  setPolicyStatus(world, attached, setStatus);
  // Nothing is written to them here.
  for (const pool of world.all("InferencePool")) setStatus(pool, {});
  return {
    configs: [
      ...[...plans.values()].flatMap(gatewayConfigs),
      ...virtualServices(world, routes, attached),
      ...destinationRules(world),
    ],
    status,
  };
}

function plansOf(world: CaseWorld): ReadonlyMap<string, GatewayPlan> {
  const sets = world.all<ListenerSetSpec>("ListenerSet");
  const plans = world.all<KubernetesGatewaySpec>("KubernetesGateway").flatMap((gateway) => {
    const { namespace, name } = gateway.key;
    const own = sets.filter(
      ({ key, spec: { parentRef } }) =>
        parentRef?.name === name && (parentRef.namespace ?? key.namespace) === namespace,
    );
    return planGateway(gateway, own, world.gatewayLookups) ?? [];
  });
  return new Map(plans.map((plan) => [`${plan.key.namespace}/${plan.key.name}`, plan]));
}

function attachedRoute(
  world: CaseWorld,
  plans: ReadonlyMap<string, GatewayPlan>,
  route: Config<HttpRouteSpec>,
): AttachedRoute {
  const head = { ...route, spec: routeHead(route.key, route.spec) };
  const listenersOf = ({ kind, namespace, name }: RouteParent): readonly ListenerPlan[] | undefined => {
    if (kind === "Gateway") return plans.get(`${namespace}/${name}`)?.listeners;
    const sets = [...plans.values()].flatMap((plan) => plan.sets);
    return sets.find(({ key }) => key.namespace === namespace && key.name === name)?.listeners;
  };
  return {
    route: head,
    parents: attachRoute(head, { listenersOf, hostsOf: (parent) => hostsOf(world, plans, parent) }),
  };
}

function hostsOf(world: CaseWorld, plans: ReadonlyMap<string, GatewayPlan>, { kind, namespace, name }: RouteParent) {
  if (kind === "Service") {
    const host = `${name}.${namespace}.svc.${world.domain}`;
    return world.hasService(host) ? [host] : `parent service: "${name}" not found`;
  }
  const entry = world.entry(namespace, name);
  if (entry === undefined) return `parent service entry: "${name}" not found`;
  const waypoint = entry.labels["istio.io/use-waypoint"];
  return waypoint !== undefined && !plans.has(`${namespace}/${waypoint}`) ? undefined : entry.spec.hosts;
}

function contextOf(world: CaseWorld, { kind, namespace }: ConfigKey, place: string): RouteContext {
  const { domain, hasService, poolService, externalBackend, grantsIn } = world;
  const grants = place === "mesh" ? undefined : { kind, grantsIn };
  return { namespace, domain, hasService, poolService, externalBackend, ...(grants && { grants }) };
}

function virtualServices(world: CaseWorld, routes: readonly Config[], attached: readonly AttachedRoute[]) {
  const planned = planRouteVirtualServices({
    routesOf: (kind) => attached.filter(({ route }) => route.key.kind === kind),
    report: () => {},
  });
  const byName = new Map(routes.map((route) => [routeName(route.key), route]));
  return [...planned.values()].map((one) =>
    routeVirtualServiceConfig(
      one,
      one.routes.flatMap((key) => byName.get(routeName(key)) ?? []),
      (key) => contextOf(world, key, one.gateway),
    ),
  );
}

type SetStatus = (object: Pick<Config, "key">, value: unknown) => void;

function setGatewayStatus(
  world: CaseWorld,
  plans: ReadonlyMap<string, GatewayPlan>,
  attached: readonly AttachedRoute[],
  setStatus: SetStatus,
): void {
  const attachedRoutes = (listener: ListenerPlan) =>
    attached.filter(({ parents }) => parents.some((one) => one.attachments.some((at) => at.listener === listener)))
      .length;
  const lookups = { serviceOf: world.gatewayService, attachedRoutes };
  for (const plan of plans.values()) {
    setStatus(plan, gatewayStatus(plan, lookups));
    for (const set of plan.sets) setStatus(set, listenerSetStatus(set, plan, lookups));
  }
}

function setRouteStatus(
  world: CaseWorld,
  route: Config<HttpRouteSpec>,
  { route: head, parents }: AttachedRoute,
  setStatus: SetStatus,
): void {
  const ours = routeParentStatuses(route, head.spec.problem, parents, (place) => contextOf(world, route.key, place));
  setStatus(route, { parents: withForeignEntries((route.status as Entries)?.parents, ours) });
}

function setPolicyStatus(world: CaseWorld, attached: readonly AttachedRoute[], setStatus: SetStatus): void {
  const gatewaysTo = (group: string, kind: string, namespace: string, name: string) =>
    attached.flatMap(({ route: { key }, parents }) => {
      const { spec } = world.get<HttpRouteSpec>(key.kind, key.namespace, key.name) ?? {};
      const refs = (spec?.rules ?? []).flatMap(({ backendRefs = [] }) => backendRefs);
      const isReferred = refs.some(
        (ref) =>
          (ref.group ?? "") === group &&
          (ref.kind ?? "Service") === kind &&
          (ref.namespace ?? key.namespace) === namespace &&
          ref.name === name,
      );
      return isReferred ? parents.flatMap(gatewayOf) : [];
    });
  const policies = world.all<BackendTlsSpec>("BackendTLSPolicy");
  const counting = policies.filter((policy) => !isIgnoredPolicy(policy));
  for (const policy of policies) {
    const ours = backendTlsStatus(policy, counting, {
      ...policySources(world),
      rootsProblem: world.gatewayLookups.rootsProblem,
      hasObject: (kind, namespace, name) => world.credential(kind, namespace, name) !== undefined,
      gatewaysOf: (kind, namespace, name) => gatewaysTo("", kind, namespace, name).map((gateway) => gateway.name),
    });
    setStatus(policy, { ancestors: withForeignEntries((policy.status as Entries)?.ancestors, ours) });
  }
  for (const policy of world.all<BackendTrafficSpec>("XBackendTrafficPolicy"))
    setStatus(policy, { ancestors: backendTrafficStatus(policy, policySources(world)) });
  for (const backend of world.all<ExternalBackendSpec>("XBackend")) {
    const { namespace, name } = backend.key;
    const gateways = gatewaysTo("gateway.networking.x-k8s.io", "XBackend", namespace, name);
    const distinct = new Map(gateways.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway]));
    setStatus(backend, { parents: externalBackendStatus(backend, [...distinct.values()]) });
  }
}

function gatewayOf({ parent: { kind, namespace, name } }: AttachedParent) {
  return kind === "Gateway" ? [{ namespace, name }] : [];
}

function policySources(world: CaseWorld) {
  return {
    targetOf: (kind: "Service" | "ServiceEntry", namespace: string, name: string) => {
      if (kind === "ServiceEntry") {
        const entry = world.entry(namespace, name)?.spec;
        return entry && { hosts: entry.hosts ?? [], ports: entry.ports ?? [] };
      }
      const host = `${name}.${namespace}.svc.${world.domain}`;
      const ports = world.portsOf(host);
      return ports && { hosts: [host], ports };
    },
    hasRoot: (namespace: string, name: string) =>
      world.gatewayLookups.rootsProblem({ kind: "ConfigMap", namespace, name }) === undefined,
  };
}

function destinationRules(world: CaseWorld): readonly Config[] {
  const sources = policySources(world);
  const policies = world.all<BackendTlsSpec>("BackendTLSPolicy").filter((policy) => !isIgnoredPolicy(policy));
  const traffic = world.all<BackendTrafficSpec>("XBackendTrafficPolicy");
  return [
    ...withTrafficPolicies(backendTlsRules(policies, sources), traffic, sources),
    ...world.all<ExternalBackendSpec>("XBackend").flatMap((backend) => externalBackendRules(backend, sources.hasRoot)),
  ];
}
