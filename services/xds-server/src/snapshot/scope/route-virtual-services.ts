/** The VirtualServices that routes of the Gateway API stand for (`@flotilla/gateway-api`), as queries. */
import {
  type ExternalBackendSpec,
  externalBackendOf,
  meshGateway,
  poolServiceName,
  poolServiceOf,
  type RouteContext,
  type RoutedConfig,
  type RouteKind,
  routeVirtualServiceConfig,
} from "@flotilla/gateway-api";
import type { ConfigKey } from "@flotilla/model";
import { sha256 } from "../content-hash.ts";
import { query, type View } from "../view.ts";
import { referenceGrants } from "./kubernetes-gateways.ts";
import { routePlan } from "./route-plans.ts";

/** By `namespace/name`. */
export const routeVirtualService = query<RoutedConfig | undefined, string>("route-virtual-service", (view, name) => {
  const planned = view.read(routePlan, name);
  if (planned === undefined) return undefined;
  const routes = planned.routes.flatMap(
    ({ kind, namespace, name }) => view.config<never>(kind as RouteKind, namespace, name) ?? [],
  );
  return routeVirtualServiceConfig(planned, routes, (route) => contextOf(view, route, planned.gateway));
});

/** Gateways follow a reference to another namespace only where it is granted; callers in the mesh need no grant. */
function contextOf(view: View, { kind, namespace }: ConfigKey, gateway: string): RouteContext {
  const grantsIn = (home: string) => view.row(referenceGrants, home);
  return {
    namespace,
    domain: view.feature("domainSuffix"),
    hasService: (hostname) => view.servicesByHost(hostname).length > 0,
    poolService: (home, name) => {
      const place = { home: `${home}.svc.${view.feature("domainSuffix")}`, service: poolServiceName(name, sha256) };
      return poolServiceOf(place, (hostname) => {
        const [shard] = view.serviceShards({ namespace: home, hostname }).values();
        return shard && { labels: shard.labels, port: shard.ports[0]?.number };
      });
    },
    externalBackend: (home, name) => {
      const spec = view.config<ExternalBackendSpec>("XBackend", home, name)?.spec;
      return spec && externalBackendOf(spec);
    },
    ...(gateway !== meshGateway && { grants: { kind, grantsIn } }),
  };
}
