/** One VirtualService as it is meant: host names completed, delegates put in their place, or what routes stand for. */
import type { RoutedConfig } from "@flotilla/gateway-api";
import { type Config, resolveShortName, type TextOf, textCodec } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type Destination,
  DestinationSchema,
  type HTTPRoute,
  HTTPRouteSchema,
  type VirtualService,
  VirtualServiceSchema,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { query, type View } from "../view.ts";
import { mergeDelegateRoutes } from "./delegate.ts";
import { ingressVirtualService } from "./ingresses.ts";
import { routeVirtualService } from "./route-virtual-services.ts";
import { reachOf } from "./services.ts";

export const virtualServiceName = textCodec("VirtualServiceName", "/", ["namespace", "name"]);
export type VirtualServiceName = TextOf<typeof virtualServiceName>;

/** Undefined for one that does not exist. */
export const virtualService = query<RoutedConfig | undefined, VirtualServiceName>("virtual-service", (view, name) => {
  const config = view.read(completed, name);
  if (config === undefined || config.spec.hosts.length === 0) return config;
  if (config.spec.http.every(({ delegate }) => delegate === undefined)) return config;
  const http = config.spec.http.flatMap((route) => expandDelegate(view, config, route));
  return { ...config, spec: create(VirtualServiceSchema, { ...config.spec, http }) };
});

function expandDelegate(view: View, root: Config<VirtualService>, route: HTTPRoute): readonly HTTPRoute[] {
  if (route.delegate === undefined) return [route];
  const { namespace, name } = route.delegate;
  const place = { namespace: namespace || root.key.namespace, name };
  const delegate = view.read(completed, virtualServiceName.write(place));
  if (delegate === undefined || delegate.spec.hosts.length > 0) return [];
  const { exportTo } = delegate.spec;
  const reach = exportTo.length > 0 ? exportTo : view.mesh.defaultVirtualServiceExportTo;
  if (reachOf(reach, delegate.key.namespace, root.key.namespace) === "hidden") return [];
  return mergeDelegateRoutes(route, delegate.spec.http);
}

const completed = query<RoutedConfig | undefined, VirtualServiceName>("completed-virtual-service", (view, text) => {
  const { namespace, name } = virtualServiceName.read(text);
  const config = view.config<VirtualService>("VirtualService", namespace, name);
  if (config === undefined) return view.read(routeVirtualService, text) ?? view.read(ingressVirtualService, text);
  const names = completeNames(view, namespace);
  const { spec } = config;
  const completedSpec = create(VirtualServiceSchema, {
    ...spec,
    hosts: spec.hosts.map((host) => names.host(host).toLowerCase()),
    gateways: spec.gateways.map(names.gateway),
    http: spec.http.map((route) => completeHttpRoute(route, names)),
    tcp: spec.tcp.map((route) => completeL4Route(route, names)),
    tls: spec.tls.map((route) => completeL4Route(route, names)),
  });
  return { ...config, spec: completedSpec };
});

export interface Names {
  readonly host: (host: string) => string;
  readonly gateway: (gateway: string) => string;
}

/** How short names in an object of a namespace are meant. */
export function completeNames(view: View, namespace: string): Names {
  const domain = view.feature("domainSuffix");
  return {
    host: (host) => resolveShortName(host, namespace, domain),
    gateway: (gateway) => (gateway === "mesh" || gateway.includes("/") ? gateway : gatewayName(gateway, namespace)),
  };
}

/** `name`, or the older form `name.namespace.svc.domain`. */
function gatewayName(gateway: string, namespace: string): string {
  const [name, home] = gateway.split(".");
  return `${home ?? namespace}/${name}`;
}

function completeHttpRoute(route: HTTPRoute, names: Names): HTTPRoute {
  return create(HTTPRouteSchema, {
    ...route,
    match: route.match.map((match) => ({ ...match, gateways: match.gateways.map(names.gateway) })),
    route: route.route.map((one) => ({ ...one, ...completeDestination(one.destination, names) })),
    mirrors: route.mirrors.map((one) => ({ ...one, ...completeDestination(one.destination, names) })),
    ...(route.mirror && { mirror: completeDestination(route.mirror, names).destination }),
  });
}

function completeDestination(destination: Destination | undefined, names: Names): { destination?: Destination } {
  if (destination === undefined) return {};
  return { destination: create(DestinationSchema, { ...destination, host: names.host(destination.host) }) };
}

interface L4Route {
  readonly match: readonly { readonly gateways: readonly string[] }[];
  readonly route: readonly { readonly destination?: Destination | undefined }[];
}

function completeL4Route<Route extends L4Route>(route: Route, names: Names): Route {
  return {
    ...route,
    match: route.match.map((match) => ({ ...match, gateways: match.gateways.map(names.gateway) })),
    route: route.route.map((one) => ({ ...one, ...completeDestination(one.destination, names) })),
  };
}
