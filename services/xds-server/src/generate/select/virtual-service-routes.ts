/**
 * The routes of a VirtualService for one port, encoded. They hardly depend on who calls, so most proxies share
 * them: labels and namespace are asked only where a match does, the scope only where a port has to be inferred.
 */
import { hasGatewaySemantics, hasSegmentPrefixes } from "@flotilla/gateway-api";
import { type Service, type TextOf, textCodec } from "@flotilla/model";
import { type Any, create } from "@flotilla/proto";
import { type Route, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { LoadBalancerSettings_ConsistentHashLB } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { Destination, HTTPRoute, VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type HostAndPort, hostAndPort, serviceText } from "../../snapshot/row-index.ts";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { mayBeHashed } from "../../snapshot/scope/ruled-hosts.ts";
import { isServiceVisible, serviceIn, servicesOfName } from "../../snapshot/scope/services.ts";
import { importedService, visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import { unknownDestinations, type VirtualServiceName, virtualService } from "../../snapshot/scope/virtual-service.ts";
import { type MatchHead, meshGateway, type VirtualServiceHead } from "../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { encodedFields, sameBytes } from "../encode/encoded.ts";
import { consistentHashOf } from "../envoy/routes/hash-policy.ts";
import { destinationCluster, weighty } from "../envoy/routes/route-action.ts";
import { isCatchAll } from "../envoy/routes/route-match.ts";
import { type ConcerningRoute, virtualServiceRoutes } from "../envoy/routes/virtual-service-route.ts";
import { sessionConfig, sessionsAreKept } from "./persistent-session.ts";

/** How requests come to the routes: over a connection of a listener (by HTTP/3 where it is advertised), or from within a gRPC client. */
export type Arrival = "plain" | "tls" | "http3" | "in-process";

/** Whose routes, for which port, for which gateway (that of a router, or the one that means all sidecars), and for which requests. */
const routesText = textCodec<
  "RoutesKey",
  {
    readonly name: VirtualServiceName;
    readonly port: string;
    readonly gateway: string;
    readonly arrival: Arrival;
  }
>("RoutesKey", "|", ["name", "port", "gateway", "arrival"]);
export type RoutesKey = TextOf<typeof routesText>;

/** Elements of the `routes` field of a virtual host. */
export interface EncodedRoutes {
  readonly ahead: Uint8Array;
  /** The route that takes every request, if there is one; where routes of several VirtualServices meet, it comes after all others. */
  readonly last: Uint8Array;
}

/** Both empty when no route concerns the proxy. */
export const encodedVirtualServiceRoutes = query<EncodedRoutes, RoutesKey>(
  "virtual-service-routes",
  (view, argument) => {
    const { name, port, gateway, arrival } = routesText.read(argument);
    return encodedRoutes(virtualServiceRouteList(view, name, { listenPort: Number(port), gateway, arrival }));
  },
  (a, b) => sameBytes(a.ahead, b.ahead) && sameBytes(a.last, b.last),
);

interface RouteListPlace {
  readonly listenPort: number;
  readonly gateway: string;
  readonly arrival: Arrival;
  /** The resolution of destinations where it differs from that of every proxy. */
  readonly destinations?: {
    readonly serviceOf: (host: string) => DestinationService | undefined;
    readonly clusterOf: (port: number, subset: string, hostname: string) => string;
  };
}

/** None when no route concerns the proxy. */
export function virtualServiceRouteList(
  view: View,
  name: VirtualServiceName,
  { listenPort, gateway, arrival, destinations }: RouteListPlace,
): readonly Route[] {
  // For what it reports: the routes are the same.
  view.read(unknownDestinations, name);
  const config = view.read(virtualService, name);
  if (config === undefined) return [];
  const place = { listenPort, gateway, namespace: config.key.namespace };
  const concerning = concerningRoutes(view, config.spec, place);
  const serviceOf = destinations?.serviceOf ?? ((host) => destinationService(view, host, place));
  const clusterOf = (destination: Destination) =>
    destinationCluster(destination, {
      ...{ listenPort, clusterOf: destinations?.clusterOf },
      service: destination.host === "" ? undefined : serviceOf(destination.host),
    });
  return virtualServiceRoutes(config.key, concerning, {
    listenPort,
    hasGatewaySemantics: hasGatewaySemantics(config.annotations),
    hasSegmentPrefixes: hasSegmentPrefixes(config.annotations),
    destinations: new Map(
      concerning.flatMap(({ http }) => [
        ...weighty(http.route).flatMap(({ destination }) => {
          if (destination === undefined) return [];
          const session = destinationSession(view, destination.host, place);
          const known = { cluster: clusterOf(destination), hash: consistentHashFor(view, destination), session };
          return [[destination, known] as const];
        }),
        ...mirrored(http).map((destination) => {
          return [destination, { cluster: clusterOf(destination), hash: undefined, session: undefined }] as const;
        }),
      ]),
    ),
    extraOf: (route) => config.extras?.get(route),
    marksMirrored: !view.feature("disableShadowHostSuffix"),
    defaultRetries: view.mesh.defaultHttpRetryPolicy,
    arrivesByTls: arrival === "tls" || arrival === "http3",
    bounds: arrival === "in-process" ? "stream-duration" : "grpc-timeout",
    advertisesHttp3: arrival === "http3",
  });
}

/** Those that are sent to no proxy of the view are not asked about. */
function concerningRoutes(view: View, { http }: VirtualService, place: RoutesPlace): readonly ConcerningRoute[] {
  const { listenPort, gateway } = place;
  return http.flatMap((route): readonly ConcerningRoute[] => {
    if (route.match.length === 0) return [{ http: route, matches: [undefined] }];
    const matches = route.match.filter(
      (match) => (match.port === 0 || match.port === listenPort) && matchConcernsProxy(view, match, gateway),
    );
    return matches.length === 0 ? [] : [{ http: route, matches }];
  });
}

function mirrored({ mirror, mirrors }: HTTPRoute): readonly Destination[] {
  return [mirror, ...mirrors.map(({ destination }) => destination)].filter((one) => one !== undefined);
}

function encodedRoutes(routes: readonly Route[]): EncodedRoutes {
  const last = routes.at(-1);
  const hasLast = last?.match !== undefined && isCatchAll(last.match);
  return { ahead: routesField(hasLast ? routes.slice(0, -1) : routes), last: routesField(hasLast ? [last] : []) };
}

function routesField(routes: readonly Route[]): Uint8Array {
  return encodedFields(VirtualHostSchema, create(VirtualHostSchema, { routes: [...routes] }));
}

/** @param gateway for which the routes are: that of a router, or the one that means all sidecars */
export function routesKey(
  name: VirtualServiceName,
  port: number,
  gateway: string,
  arrival: Arrival = "plain",
): RoutesKey {
  return routesText.write({ name, port, gateway, arrival });
}

/** True where a VirtualService has any route for the proxy on a port. Delegates decide about matches of their own. */
export function concernsProxy(view: View, head: VirtualServiceHead, port: number, gateway: string): boolean {
  if (head.hasDelegates) {
    const { ahead, last } = view.read(encodedVirtualServiceRoutes, routesKey(head.name, port, gateway));
    return ahead.length + last.length > 0;
  }
  return head.http.some(
    (matches) =>
      matches.length === 0 ||
      matches.some((match) => (match.port === 0 || match.port === port) && matchConcernsProxy(view, match, gateway)),
  );
}

/** As in istiod, a match that names gateways is judged by these alone: its source labels and namespace are not looked at. */
function matchConcernsProxy(view: View, match: MatchHead, gateway: string): boolean {
  if (match.gateways.length > 0) return match.gateways.includes(gateway);
  // A waypoint's callers are of any workload: their labels are not known.
  if (view.proxy.type === "waypoint" && Object.keys(match.sourceLabels).length > 0) return false;
  if (match.sourceNamespace !== "" && match.sourceNamespace !== view.proxy.namespace) return false;
  return Object.keys(match.sourceLabels).length === 0 || view.proxy.matches(match.sourceLabels);
}

interface DestinationService {
  readonly hostname: string;
  readonly onlyPort: number | undefined;
}

interface RoutesPlace {
  readonly listenPort: number;
  readonly gateway: string;
  /** Of the VirtualService. */
  readonly namespace: string;
}

/**
 * A sidecar infers a port only where requests for any port arrive: elsewhere the destination has the listener's. A router's port has
 * nothing to do with that of the destination. Of services that are in scope only because a VirtualService leads to them nothing more
 * is known than their name.
 */
function destinationService(view: View, host: string, place: RoutesPlace): DestinationService {
  const { listenPort, gateway } = place;
  const isMesh = gateway === meshGateway;
  const concrete = view.read(concreteHost, hostAndPort.write({ hostname: host, port: isMesh ? listenPort : 0 }));
  const hostname = concrete !== host && importedService(view, host) === undefined ? host : concrete;
  if (isMesh && listenPort !== 0) return { hostname, onlyPort: undefined };
  const [port, ...others] = routedService(view, host, place)?.ports ?? [];
  return { hostname, onlyPort: others.length === 0 ? port?.number : undefined };
}

/** Routers prefer the service of the VirtualService's own namespace. */
function routedService(view: View, host: string, { gateway, namespace }: RoutesPlace): Service | undefined {
  const own = gateway === meshGateway ? undefined : serviceIn(view, namespace, host);
  return own !== undefined && isServiceVisible(view, own, view.proxy.namespace) ? own : importedService(view, host);
}

function destinationSession(view: View, host: string, place: RoutesPlace): Any | undefined {
  if (!sessionsAreKept(view)) return undefined;
  const { listenPort, gateway } = place;
  const service = routedService(view, host, place);
  const isAnyPort = listenPort === 0 || gateway !== meshGateway;
  const isOnPort = isAnyPort || service?.ports.some(({ number }) => number === listenPort);
  return service === undefined || isOnPort !== true ? undefined : sessionConfig(view, service.labels);
}

/** The hash settings for requests to a destination, if its DestinationRule hashes them. */
export function consistentHashFor(
  view: View,
  { host, subset, port }: Destination,
): LoadBalancerSettings_ConsistentHashLB | undefined {
  const service = mayBeHashed(view, host) ? visibleService(view, host) : undefined;
  const rule = service === undefined ? undefined : destinationRuleOf(view, service);
  return rule === undefined ? undefined : consistentHashOf(rule.spec, subset, port?.number ?? 0);
}

/** The service that an ExternalName stands for on the ports it has; any other host stands for itself. */
const concreteHost = query<string, HostAndPort>("concrete-host", (view, argument) => {
  const { hostname: host, port } = hostAndPort.read(argument);
  const services = view.servicesByHost(host).flatMap((name) => view.read(servicesOfName, serviceText.write(name)));
  const alias = services.find(({ resolution }) => resolution === "alias");
  const isOnPort = port === "0" || alias?.ports.some(({ number }) => number === Number(port));
  return (isOnPort ? alias?.kubernetes?.externalName : undefined) ?? host;
});
