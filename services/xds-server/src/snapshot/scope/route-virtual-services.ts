/** The VirtualServices that routes of the Gateway API stand for (`@flotilla/gateway-api`), as queries. */
import {
  type ExternalBackendSpec,
  externalBackendOf,
  meshGateway,
  type RouteContext,
  type RouteKind,
  routeVirtualServiceConfig,
} from "@flotilla/gateway-api";
import type { Config, ConfigKey } from "@flotilla/model";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { query, type View } from "../view.ts";
import { referenceGrants } from "./kubernetes-gateways.ts";
import { routePlan } from "./route-plans.ts";

/** By `namespace/name`. */
export const routeVirtualService = query<Config<VirtualService> | undefined, string>(
  "route-virtual-service",
  (view, name) => {
    const planned = view.read(routePlan, name);
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
