/** The VirtualServices that routes of the Gateway API stand for (`@flotilla/gateway-api`), as queries. */
import {
  type HttpRouteSpec,
  type MeshParent,
  type MeshRouteHead,
  meshParents,
  meshRouteHead,
  planRouteVirtualServices,
  type RouteContext,
  type RouteKind,
  type RouteVirtualService,
  routeKinds,
  routeName,
  routeVirtualServiceConfig,
} from "@flotilla/gateway-api";
import { type Config, type ConfigKey, type TextOf, textCodec } from "@flotilla/model";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";

/** Rules change more often than parents: the rest of a route is read apart. One row a kind. */
export const meshRouteIndexes: readonly RowIndex<HttpRouteSpec>[] = routeKinds.map((kind) => ({
  name: indexName(kind),
  kind,
  keysOf: ({ key, spec }) => (meshParents(spec.parentRefs, key.namespace).length === 0 ? [] : ["all"]),
  project: ({ key, creationTimeMs, spec }): Config => ({
    key,
    creationTimeMs,
    labels: {},
    annotations: {},
    spec: meshRouteHead(key, spec),
  }),
}));

/** For reading the row `all`. */
function meshRouteHeads(kind: RouteKind): RowIndex<MeshRouteHead> {
  return { name: indexName(kind), kind, keysOf: () => ["all"] };
}

function indexName(kind: RouteKind): string {
  return `mesh-routes-${kind}`;
}

/** All of them, by `namespace/name`. */
export const routeVirtualServices = query<ReadonlyMap<string, RouteVirtualService>>(
  "route-virtual-services",
  (view) =>
    planRouteVirtualServices({
      headsOf: (kind) => view.row(meshRouteHeads(kind), "all"),
      hostsOf: (parent) => hostsOf(view, parent),
      report: (route, message) => report(view, route, message),
    }),
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

/** By `namespace/name`. */
export const routeVirtualService = query<Config<VirtualService> | undefined, string>(
  "route-virtual-service",
  (view, name) => {
    const planned = view.read(plannedVirtualService, name);
    if (planned === undefined) return undefined;
    const context: RouteContext = {
      namespace: planned.key.namespace,
      domain: view.feature("domainSuffix"),
      hasService: (hostname) => view.servicesByHost(hostname).length > 0,
    };
    const routes = planned.routes.flatMap(
      ({ kind, namespace, name }) => view.config<never>(kind as RouteKind, namespace, name) ?? [],
    );
    return routeVirtualServiceConfig(planned, routes, context);
  },
);

const plannedVirtualService = query<RouteVirtualService | undefined, string>(
  "planned-route-virtual-service",
  (view, name) => view.read(routeVirtualServices).get(name),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function hostsOf(view: View, { kind, namespace, name }: MeshParent): readonly string[] {
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
