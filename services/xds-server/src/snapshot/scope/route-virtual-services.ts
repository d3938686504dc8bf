/** The VirtualServices that routes of the Gateway API stand for (`@flotilla/gateway-api`), as queries. */
import {
  type AttachedRoute,
  attachRoute,
  type ExternalBackendSpec,
  externalBackendOf,
  type HttpRouteSpec,
  type ListenerPlan,
  meshGateway,
  planRouteVirtualServices,
  type RouteContext,
  type RouteHead,
  type RouteKind,
  type RouteParent,
  type RouteVirtualService,
  routeHead,
  routeKinds,
  routeName,
  routeVirtualServiceConfig,
  samePlan,
} from "@flotilla/gateway-api";
import { type Config, type ConfigKey, type TextOf, textCodec } from "@flotilla/model";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { listenersOf, referenceGrants } from "./kubernetes-gateways.ts";

/** Rules change more often than parents: the rest of a route is read apart. One row a kind. */
export const routeIndexes: readonly RowIndex<HttpRouteSpec>[] = routeKinds.map((kind) => ({
  name: indexName(kind),
  kind,
  keysOf: ({ key, spec }) => (routeHead(key, spec).parents.length === 0 ? [] : ["all"]),
  project: ({ key, creationTimeMs, spec }): Config => ({
    key,
    creationTimeMs,
    labels: {},
    annotations: {},
    spec: routeHead(key, spec),
  }),
}));

/** For reading the row `all`. */
function routeHeads(kind: RouteKind): RowIndex<RouteHead> {
  return { name: indexName(kind), kind, keysOf: () => ["all"] };
}

function indexName(kind: RouteKind): string {
  return `route-heads-${kind}`;
}

/** All of them, by `namespace/name`. */
export const routeVirtualServices = query<Plans>(
  "route-virtual-services",
  (view) =>
    planRouteVirtualServices({
      routesOf: (kind) => attachedRoutes(view, kind),
      report: (route, message) => report(view, route, message),
    }),
  samePlans,
);

type Plans = ReadonlyMap<string, RouteVirtualService>;

/** In the same order, too. */
function samePlans(a: Plans, b: Plans): boolean {
  if (a.size !== b.size) return false;
  const others = b.values();
  for (const plan of a.values()) if (!samePlan(plan, others.next().value)) return false;
  return true;
}

/** Routes with what they attach to; parents are looked up once for all of them. */
function attachedRoutes(view: View, kind: RouteKind): readonly AttachedRoute[] {
  const listeners = new Map<string, readonly ListenerPlan[] | undefined>();
  const lookups = {
    hostsOf: (parent: RouteParent) => hostsOf(view, parent),
    listenersOf: (parent: RouteParent) => {
      const name = `${parent.kind}/${parent.namespace}/${parent.name}`;
      if (!listeners.has(name)) listeners.set(name, listenersOf(view, parent));
      return listeners.get(name);
    },
  };
  return view.row(routeHeads(kind), "all").map((route) => ({ route, parents: attachRoute(route, lookups) }));
}

/** By `namespace/name`. */
export const routeVirtualService = query<Config<VirtualService> | undefined, string>(
  "route-virtual-service",
  (view, name) => {
    const planned = view.read(plannedVirtualService, name);
    if (planned === undefined) return undefined;
    const routes = planned.routes.flatMap(
      ({ kind, namespace, name }) => view.config<never>(kind as RouteKind, namespace, name) ?? [],
    );
    return routeVirtualServiceConfig(planned, routes, (route) => contextOf(view, route, planned.gateway));
  },
);

/** Gateways follow a reference to another namespace only where it is granted; callers in the mesh need no grant. */
function contextOf(view: View, { kind, namespace }: ConfigKey, gateway: string): RouteContext {
  const grantsIn = (home: string) => view.row(referenceGrants, home);
  return {
    namespace,
    domain: view.feature("domainSuffix"),
    hasService: (hostname) => view.servicesByHost(hostname).length > 0,
    externalBackend: (home, name) => {
      const spec = view.config<ExternalBackendSpec>("XBackend", home, name)?.spec;
      return spec && externalBackendOf(spec);
    },
    ...(gateway !== meshGateway && { grants: { kind, grantsIn } }),
  };
}

const plannedVirtualService = query<RouteVirtualService | undefined, string>(
  "planned-route-virtual-service",
  (view, name) => view.read(routeVirtualServices).get(name),
  samePlan,
);

function hostsOf(view: View, { kind, namespace, name }: RouteParent): readonly string[] {
  return kind === "Service"
    ? [`${name}.${namespace}.svc.${view.feature("domainSuffix")}`]
    : view.read(serviceEntryHosts, serviceEntryName.write({ namespace, name }));
}

const serviceEntryName = textCodec("ServiceEntryName", "/", ["namespace", "name"]);

const serviceEntryHosts = query<readonly string[], TextOf<typeof serviceEntryName>>(
  "service-entry-hosts",
  (view, text) => {
    const { namespace, name } = serviceEntryName.read(text);
    return view.config<ServiceEntry>("ServiceEntry", namespace, name)?.spec.hosts ?? [];
  },
);

function report(view: View, route: ConfigKey, message: string): void {
  view.report({ metric: "flotilla_refused_route", object: routeName(route), message });
}
