/**
 * Routes of the Gateway API as the VirtualServices that they stand for. HTTPRoutes and GRPCRoutes for the same host of a listener are
 * one, as are those of a namespace for the same host and port of the mesh; each TCPRoute, TLSRoute and UDPRoute is one for each
 * listener, and for each host of the mesh. Names are istiod's: proxies see them. Source: scenario gateway-api/mesh-routes, corpora xds
 * (core/TestSidecarRoutes/httproute) and gateway-api (serviceentry, invalid).
 */
import { type Config, type ConfigKey, compareText } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type VirtualService, VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { RouteContext } from "./backends.ts";
import { grpcRoutes, httpRoutes } from "./http-rules.ts";
import { tcpRoutes, tlsRoutes } from "./layer4-rules.ts";
import { type AttachedParent, meshGateway } from "./route-attachments.ts";
import { type RoutedConfig, routeExtras } from "./route-extras.ts";
import type { RouteHead, RouteParent } from "./route-head.ts";
import type { GrpcRouteSpec, HttpRouteSpec, Layer4RouteSpec, RouteKind } from "./route-spec.ts";
import { inOrder } from "./rule-order.ts";

/** A VirtualService that routes stand for, but for its rules. */
export interface RouteVirtualService {
  readonly key: ConfigKey;
  /** The oldest route's. */
  readonly creationTimeMs: number;
  /** `mesh`, or `namespace/name` of the Gateway of Istio's API that a listener stands for. */
  readonly gateway: string;
  /** One for HTTP and in the mesh. */
  readonly hosts: readonly string[];
  /** 0: all ports. */
  readonly port: number;
  readonly layer: "http" | "tcp" | "tls" | "udp";
  readonly hasRules: boolean;
  /** HTTP routes for another namespace's service: they are for clients of their own namespace alone. */
  readonly isConsumer: boolean;
  /** Oldest first. */
  readonly routes: readonly ConfigKey[];
}

/** True where two plans are for the same VirtualService. There may be thousands, and all are compared when one route comes or goes. */
export function samePlan(a: RouteVirtualService | undefined, b: RouteVirtualService | undefined): boolean {
  if (a === undefined || b === undefined || a === b) return a === b;
  return (
    sameKey(a.key, b.key) &&
    a.creationTimeMs === b.creationTimeMs &&
    a.gateway === b.gateway &&
    a.port === b.port &&
    a.layer === b.layer &&
    a.hasRules === b.hasRules &&
    a.isConsumer === b.isConsumer &&
    sameElements(a.hosts, b.hosts, (one, other) => one === other) &&
    sameElements(a.routes, b.routes, sameKey)
  );
}

function sameKey(a: ConfigKey, b: ConfigKey): boolean {
  return a === b || (a.name === b.name && a.namespace === b.namespace && a.kind === b.kind);
}

function sameElements<T>(a: readonly T[], b: readonly T[], same: (one: T, other: T) => boolean): boolean {
  return a.length === b.length && a.every((one, index) => same(one, b[index] as T));
}

/** A route with all of its parents that it attaches to. */
export interface AttachedRoute {
  readonly route: Config<RouteHead>;
  readonly parents: readonly AttachedParent[];
}

export interface RouteSelection {
  readonly routesOf: (kind: RouteKind) => readonly AttachedRoute[];
  /** Receives the reason why a route, or one of its hosts, is not followed. */
  readonly report: (route: ConfigKey, message: string) => void;
}

interface Placed {
  readonly route: Config<RouteHead>;
  readonly parent: RouteParent;
  readonly gateway: string;
  readonly hosts: readonly string[];
  /** Of all places of the route. */
  readonly index: number;
}

/** The VirtualServices that all routes make together, by `namespace/name`. */
export function planRouteVirtualServices(selection: RouteSelection): ReadonlyMap<string, RouteVirtualService> {
  const planned = [
    ...httpVirtualServices(selection),
    ...layer4VirtualServices(selection, "TCPRoute"),
    ...layer4VirtualServices(selection, "TLSRoute"),
    ...layer4VirtualServices(selection, "UDPRoute"),
  ];
  return new Map(planned.map((one) => [`${one.key.namespace}/${one.key.name}`, one]));
}

function httpVirtualServices(selection: RouteSelection): readonly RouteVirtualService[] {
  const places = placesOf(selection, "HTTPRoute");
  // istiod names the VirtualService of a route of the mesh by the route's name and a count, whichever kind it is: of an HTTPRoute
  // and a GRPCRoute of one name it keeps the first.
  const taken = new Set(places.filter(isInMesh).map(countedName));
  for (const one of placesOf(selection, "GRPCRoute")) {
    if (!isInMesh(one) || !taken.has(countedName(one))) places.push(one);
    else selection.report(one.route.key, `not followed for ${one.hosts}: there is an HTTPRoute of the same name`);
  }
  const single = places.flatMap((place) => place.hosts.map((host) => ({ ...place, host })));
  const groups = Map.groupBy(single, (place) =>
    isInMesh(place) ? meshGroup(place, place.host) : `${place.gateway}|${place.host}`,
  );
  return [...groups.values()].flatMap((members) => {
    const routes = members.map(({ route }) => route).sort(compareRoutes);
    const [[first], [oldest]] = [members, routes];
    if (first === undefined || oldest === undefined) return [];
    const { namespace } = oldest.key;
    const name = isInMesh(first) ? meshGroup(first, first.host) : `${first.gateway.replace("/", "~")}~${first.host}`;
    return {
      key: { kind: "VirtualService", namespace, name },
      creationTimeMs: oldest.creationTimeMs,
      gateway: first.gateway,
      ...{ hosts: [first.host], port: isInMesh(first) ? first.parent.port : 0, layer: "http" as const },
      hasRules: routes.some(({ spec }) => spec.hasRules),
      isConsumer: isInMesh(first) && first.parent.namespace !== namespace,
      routes: [...new Set(routes.map(({ key }) => key))],
    };
  });
}

type Aged = Pick<Config, "key" | "creationTimeMs">;

/**
 * The Gateway API's order of precedence: the oldest first, then by namespace and name. istiod compares `name~COUNT`, so that of two names
 * of which one begins with the other the longer comes first.
 */
function compareRoutes(a: Aged, b: Aged): number {
  return (
    a.creationTimeMs - b.creationTimeMs ||
    compareText(a.key.namespace, b.key.namespace) ||
    compareText(`${a.key.name}~`, `${b.key.name}~`)
  );
}

function meshGroup({ route, parent: { port } }: Placed, host: string): string {
  return [route.key.namespace, ...(port === 0 ? [] : [port]), host].join("~");
}

function isInMesh({ gateway }: Placed): boolean {
  return gateway === meshGateway;
}

const layers = { TCPRoute: "tcp", TLSRoute: "tls", UDPRoute: "udp" } as const;

function layer4VirtualServices(selection: RouteSelection, kind: keyof typeof layers): readonly RouteVirtualService[] {
  const layer = layers[kind];
  return placesOf(selection, kind).map((place) => {
    const { key, creationTimeMs, spec } = place.route;
    return {
      key: {
        ...key,
        kind: "VirtualService",
        name: `${key.name}~${layer}~${place.index}~istio-autogenerated-k8s-gateway`,
      },
      creationTimeMs,
      gateway: place.gateway,
      ...{ hosts: place.hosts, port: isInMesh(place) ? place.parent.port : 0, layer },
      hasRules: spec.hasRules,
      isConsumer: false,
      routes: [key],
    };
  });
}

/** A route with a problem is reported and left out. */
function placesOf({ routesOf, report }: RouteSelection, kind: RouteKind): Placed[] {
  return routesOf(kind).flatMap(({ route, parents }) => {
    const attachments = parents.flatMap((parent) => parent.attachments);
    if (route.spec.problem !== undefined) {
      if (attachments.length > 0) report(route.key, `not followed: ${route.spec.problem.message}`);
      return [];
    }
    return attachments
      .filter(({ hosts }) => hosts.length > 0)
      .toSorted((a, b) => compareText(a.gateway, b.gateway))
      .map((one, index) => ({ ...one, route, index }));
  });
}

function countedName({ route: { key }, index }: Placed): string {
  return `${key.namespace}/${key.name}~${index}`;
}

/** The VirtualService with the rules of its routes, which come in the order of `planned.routes`. */
export function routeVirtualServiceConfig(
  planned: RouteVirtualService,
  routes: readonly Config[],
  contextOf: (route: ConfigKey) => RouteContext,
): RoutedConfig {
  const { key, creationTimeMs } = planned;
  const extras = planned.layer === "http" ? routeExtras(routes, contextOf) : undefined;
  const annotations = { ...gatewaySemantics, [parents]: planned.routes.map(parentOf).join(",") };
  return {
    key,
    creationTimeMs,
    labels: {},
    annotations,
    spec: specOf(planned, routes, contextOf),
    ...(extras && { extras }),
  };
}

function specOf(
  { gateway, hosts, port, layer }: RouteVirtualService,
  routes: readonly Config[],
  contextOf: (route: ConfigKey) => RouteContext,
): VirtualService {
  const common = { hosts: [...hosts], gateways: [gateway] };
  if (layer === "http") {
    const http = routes.flatMap(({ key, spec }) =>
      key.kind === "HTTPRoute"
        ? httpRoutes(key, spec as HttpRouteSpec, port, contextOf(key))
        : grpcRoutes(key, spec as GrpcRouteSpec, port, contextOf(key)),
    );
    return create(VirtualServiceSchema, { ...common, http: [...inOrder(http)] });
  }
  const specs = routes.map(({ key, spec }) => ({ spec: spec as Layer4RouteSpec, context: contextOf(key) }));
  return create(VirtualServiceSchema, {
    ...common,
    ...((layer === "tcp" || layer === "udp") && {
      tcp: specs.flatMap(({ spec, context }) => tcpRoutes(spec, port, context)),
    }),
    ...(layer === "tls" && {
      tls: specs.flatMap(({ spec, context }) =>
        tlsRoutes(spec, { hosts, port, isMesh: gateway === meshGateway }, context),
      ),
    }),
  });
}

const parents = "internal.istio.io/parents";
const semantics = "internal.istio.io/route-semantics";
const gatewaySemantics: Readonly<Record<string, string>> = { [semantics]: "gateway" };

/** As istiod writes it: `HTTPRoute/name.namespace`. Namespaces have no dots. */
function parentOf({ kind, namespace, name }: ConfigKey): string {
  return `${kind}/${name}.${namespace}`;
}

/** The routes that a VirtualService stands for, as `Kind/namespace/name`; none for one that is an object itself. */
export function routesBehind({ annotations }: Pick<Config, "annotations">): readonly string[] {
  const texts = annotations[parents]?.split(",") ?? [];
  return texts.map((text) => text.replace(/^([^/]+)\/(.+)\.([^.]+)$/, "$1/$3/$2"));
}

/**
 * True where a VirtualService stands for routes of the Gateway API: prefixes end at path segments, a destination that does not exist is the
 * server's fault, their own namespace's come first, and only hosts that a service has are routed.
 */
export function hasGatewaySemantics(annotations: Readonly<Record<string, string>>): boolean {
  return annotations[semantics] === "gateway";
}

/** True where prefixes of a VirtualService end at path segments: those of routes of the Gateway API and of Ingresses do. */
export function hasSegmentPrefixes(annotations: Readonly<Record<string, string>>): boolean {
  return hasGatewaySemantics(annotations) || annotations[semantics] === "ingress";
}

export function routeName({ kind, namespace, name }: ConfigKey): string {
  return `${kind}/${namespace}/${name}`;
}
