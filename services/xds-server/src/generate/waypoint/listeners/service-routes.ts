/** The routes of a service behind a waypoint on one of its ports: those of its VirtualServices, else one that leads to it. */
import { clusterName, isHttp, isUnsupported, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import type { Route } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { LoadBalancerSettings_ConsistentHashLB as ConsistentHash } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { visibleService } from "../../../snapshot/scope/sidecar-scope.ts";
import type { VirtualServiceName } from "../../../snapshot/scope/virtual-service.ts";
import { meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { waypointService, waypointVirtualServices } from "../../../snapshot/scope/waypoint-services.ts";
import type { View } from "../../../snapshot/view.ts";
import { layersOf, vipClusterName } from "../../select/vip-cluster.ts";
import { serviceRoute } from "../../select/virtual-host.ts";
import { consistentHashFor, virtualServiceRouteList } from "../../select/virtual-service-routes.ts";

export interface RoutedPort {
  readonly service: Service;
  readonly port: number;
  /** Of the cluster that leads to the service. */
  readonly name: string;
}

export function serviceRoutes(view: View, { service, port, name }: RoutedPort): RouteConfiguration {
  const { hostname } = service;
  const routes = view.read(waypointVirtualServices, hostname).flatMap((head) => routesOf(view, head.name, port));
  // Only hosts that the name could be resolved for. Source: istiod asked.
  const domain = service.resolution === "dynamic-dns" ? hostname : "*";
  if (routes.length > 0) return routeConfiguration(name, port, routes, domain);
  const hash = consistentHashFor(view, create(DestinationSchema, { host: hostname, port: { number: port } }));
  return defaultRoutes(view, { name, port, operation: `${hostname}:${port}`, hash, domain });
}

interface DefaultRoute {
  readonly name: string;
  readonly port: number;
  readonly operation: string;
  readonly hash: ConsistentHash | undefined;
  readonly domain?: string;
}

export function defaultRoutes(view: View, { name, port, operation, hash, domain }: DefaultRoute): RouteConfiguration {
  const route = serviceRoute({ cluster: name, operation, hash, retries: view.mesh.defaultHttpRetryPolicy });
  return create(RouteConfigurationSchema, {
    ...routeConfiguration(name, port, [route], domain),
    maxDirectResponseBodySizeBytes: 1_048_576,
  });
}

function routesOf(view: View, name: VirtualServiceName, port: number): readonly Route[] {
  return virtualServiceRouteList(view, name, {
    listenPort: port,
    gateway: meshGateway,
    arrival: "plain",
    destinations: {
      serviceOf: (host) => destinationService(view, host),
      clusterOf: (number, subset, host) => destinationCluster(view, { number, subset, host }),
    },
  });
}

function destinationService(view: View, host: string) {
  const service = waypointService(view, host) ?? visibleService(view, host);
  const [only, ...others] = service?.ports ?? [];
  return { hostname: host, onlyPort: others.length === 0 ? only?.number : undefined };
}

interface DestinationPort {
  readonly number: number;
  readonly subset: string;
  readonly host: string;
}

/** Services behind the waypoint are reached from within it; an unknown host counts as one of them, as in istiod. */
function destinationCluster(view: View, { number, subset, host: hostname }: DestinationPort): string {
  const own = waypointService(view, hostname);
  if (own === undefined && visibleService(view, hostname) !== undefined)
    return clusterName("outbound", number, subset, hostname);
  const protocol = own?.ports.find((port) => port.number === number)?.protocol ?? "HTTP";
  const layer = isHttp(protocol) || isUnsupported(protocol) ? "http" : (layersOf(protocol)[0] ?? "tcp");
  return vipClusterName({ port: number, layer, subset, hostname });
}

function routeConfiguration(name: string, port: number, routes: readonly Route[], domain = "*"): RouteConfiguration {
  return create(RouteConfigurationSchema, {
    name,
    validateClusters: false,
    virtualHosts: [{ name: `inbound|http|${port}`, domains: [domain], routes: [...routes] }],
  });
}
