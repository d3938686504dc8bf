/**
 * One VirtualService as it is meant: host names completed, delegates put in their place, or the VirtualService that routes stand for.
 * Findings about one whose routes are sent all the same, as istiod does: destinations that lead nowhere, for which requests are answered
 * with 503, and hosts of other namespaces. Judged from its own namespace, so that all proxies share the answer.
 */
import { meshGateway, type RoutedConfig, routesBehind } from "@flotilla/gateway-api";
import { type Config, type TextOf, textCodec } from "@flotilla/model";
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
import { destinationRulesFor, ruleRequest } from "./destination-rules.ts";
import { ingressVirtualService } from "./ingresses.ts";
import { routeVirtualService } from "./route-virtual-services.ts";
import { completeNames, isServiceVisible, type Names, reachOf, serviceIn } from "./services.ts";

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

/** The missing destinations, in words; reported under the name of the VirtualService, or of the routes that it stands for. */
export const unknownDestinations = query<readonly string[], VirtualServiceName>(
  "unknown-destinations",
  (view, name) => {
    const config = view.read(virtualService, name);
    if (config === undefined) return [];
    reportForeignHosts(view, config);
    const { namespace } = config.key;
    const missing = destinationsOf(config.spec).flatMap(
      (destination) => whatIsMissing(view, namespace, destination) ?? [],
    );
    const texts = [...new Set(missing)];
    if (texts.length > 0) {
      const message = `routes lead nowhere: there is no ${texts.join(", no ")}`;
      const routes = routesBehind(config);
      for (const object of routes.length > 0 ? routes : [`VirtualService/${name}`]) {
        view.report({ metric: "flotilla_unknown_destination", object, message });
      }
    }
    return texts;
  },
);

/**
 * An author of VirtualServices in any namespace decides where the mesh's calls of a host go (ISTIO-SECURITY-2026-002). Routes of the root
 * namespace are the administrator's.
 */
function reportForeignHosts(view: View, config: Config<VirtualService>): void {
  const { namespace, name } = config.key;
  const { rootNamespace, defaultVirtualServiceExportTo } = view.mesh;
  const { hosts, exportTo, gateways } = config.spec;
  const reach = exportTo.length === 0 ? defaultVirtualServiceExportTo : exportTo;
  const isForOthers = reach.some((one) => one !== "." && one !== namespace);
  const isForMesh = gateways.length === 0 || gateways.includes(meshGateway);
  if (namespace === rootNamespace || !isForOthers || !isForMesh || routesBehind(config).length > 0) return;
  const found = hosts.filter((host) => belongsToOthers(view, host, namespace));
  if (found.length === 0) return;
  const message = `routes calls of other namespaces to hosts that are not of its own: ${found.join(", ")}`;
  view.report({ metric: "flotilla_foreign_host", object: `VirtualService/${namespace}/${name}`, message });
}

function belongsToOthers(view: View, host: string, namespace: string): boolean {
  const homes = view.servicesByHost(host).map((service) => service.namespace);
  return homes.length > 0 && !homes.includes(namespace);
}

function destinationsOf({ http, tcp, tls }: VirtualService): readonly Destination[] {
  const ofHttp = http.flatMap(({ route, mirror, mirrors }) => [
    ...[...route, ...mirrors].map(({ destination }) => destination),
    mirror,
  ]);
  const ofLayer4 = [...tcp, ...tls].flatMap(({ route }) => route.map(({ destination }) => destination));
  return [...ofHttp, ...ofLayer4].filter((destination) => destination !== undefined);
}

function whatIsMissing(view: View, namespace: string, { host, subset }: Destination): string | undefined {
  const services = view
    .servicesByHost(host)
    .flatMap(({ namespace: home }) => serviceIn(view, home, host) ?? [])
    .filter((service) => isServiceVisible(view, service, namespace));
  if (services.length === 0) return `host ${host}`;
  if (subset === "") return undefined;
  const hasSubset = services.some((service) =>
    view
      .read(destinationRulesFor, ruleRequest.write({ namespace, home: service.namespace, hostname: host }))
      .some(({ config }) => config.spec.subsets.some(({ name }) => name === subset)),
  );
  return hasSubset ? undefined : `subset ${subset} of ${host}`;
}
