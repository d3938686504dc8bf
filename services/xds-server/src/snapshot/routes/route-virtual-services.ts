/**
 * Routes of the Gateway API for hosts of the mesh, as the VirtualServices that they stand for. HTTPRoutes and GRPCRoutes of a
 * namespace that are for the same host and port are one VirtualService; each TCPRoute and TLSRoute is one for each of its
 * hosts. Names are istiod's: they stand in what proxies get. Source: scenario gateway-api/mesh-routes, corpora xds
 * (core/TestSidecarRoutes/httproute) and gateway-api (serviceentry, invalid).
 */
import { type Config, type ConfigKey, compareByAge } from "@flotilla/model";
import { create } from "@flotilla/proto";
import type { ServiceEntry } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import { type VirtualService, VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { gatewaySemantics } from "../scope/gateway-semantics.ts";
import { query, type View } from "../view.ts";
import type { RouteContext } from "./backends.ts";
import { grpcRoutes, httpRoutes } from "./http-rules.ts";
import { tcpRoutes, tlsRoutes } from "./layer4-rules.ts";
import { type MeshParent, type MeshRouteHead, meshRouteHeads } from "./mesh-route-index.ts";
import type { GrpcRouteSpec, HttpRouteSpec, Layer4RouteSpec, RouteKind } from "./route-spec.ts";
import { inOrder } from "./rule-order.ts";

/** A VirtualService that routes stand for, but for its rules. */
export interface RouteVirtualService {
  readonly key: ConfigKey;
  /** The oldest route's. */
  readonly creationTimeMs: number;
  readonly host: string;
  /** 0: all ports. */
  readonly port: number;
  readonly layer: "http" | "tcp" | "tls";
  readonly hasRules: boolean;
  /** HTTP routes for another namespace's service: they are for clients of their own namespace alone. */
  readonly isConsumer: boolean;
  /** Oldest first. */
  readonly routes: readonly ConfigKey[];
}

type Head = Config<MeshRouteHead>;

interface Attachment {
  readonly route: Head;
  readonly parent: MeshParent;
  readonly host: string;
  /** Of all hosts of the route. */
  readonly index: number;
}

/** All of them, by `namespace/name`. */
export const routeVirtualServices = query<ReadonlyMap<string, RouteVirtualService>>(
  "route-virtual-services",
  (view) => {
    const found = new Map<string, RouteVirtualService>();
    for (const one of [...httpVirtualServices(view), ...layer4(view, "TCPRoute"), ...layer4(view, "TLSRoute")]) {
      found.set(`${one.key.namespace}/${one.key.name}`, one);
    }
    return found;
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

/** By `namespace/name`. */
export const routeVirtualService = query<Config<VirtualService> | undefined, string>(
  "route-virtual-service",
  (view, name) => {
    const planned = view.read(plannedVirtualService, name);
    return planned && { ...planned, labels: {}, annotations: annotationsOf(planned), spec: specOf(view, planned) };
  },
);

/** The routes that a VirtualService stands for, as `Kind/namespace/name`; none for one that is an object itself. */
export function routesBehind({ annotations }: Config): readonly string[] {
  return annotations[parents]?.split(",") ?? [];
}

const parents = "internal.istio.io/parents";

function annotationsOf({ routes }: RouteVirtualService): Readonly<Record<string, string>> {
  return { ...gatewaySemantics, [parents]: routes.map(objectName).join(",") };
}

const plannedVirtualService = query<RouteVirtualService | undefined, string>(
  "planned-route-virtual-service",
  (view, name) => view.read(routeVirtualServices).get(name),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function httpVirtualServices(view: View): readonly RouteVirtualService[] {
  const attachments = attachmentsOf(view, "HTTPRoute");
  // istiod names what it makes of a route by the route's name and a count, whichever kind it is: of an HTTPRoute and a
  // GRPCRoute of one name it keeps the first.
  const taken = new Set(attachments.map(countedName));
  for (const one of attachmentsOf(view, "GRPCRoute")) {
    if (!taken.has(countedName(one))) attachments.push(one);
    else report(view, one.route.key, `not followed for ${one.host}: there is an HTTPRoute of the same name`);
  }
  const groups = Map.groupBy(attachments, ({ route, parent, host }) =>
    [route.key.namespace, ...(parent.port === 0 ? [] : [parent.port]), host].join("~"),
  );
  return [...groups].flatMap(([name, members]) => {
    const routes = members.map(({ route }) => route).sort(compareByAge);
    const [[first], [oldest]] = [members, routes];
    if (first === undefined || oldest === undefined) return [];
    const { namespace } = oldest.key;
    return {
      key: { kind: "VirtualService", namespace, name },
      creationTimeMs: oldest.creationTimeMs,
      ...{ host: first.host, port: first.parent.port, layer: "http" as const },
      hasRules: routes.some(({ spec }) => spec.hasRules),
      isConsumer: first.parent.namespace !== namespace,
      routes: [...new Set(routes.map(({ key }) => key))],
    };
  });
}

function layer4(view: View, kind: "TCPRoute" | "TLSRoute"): readonly RouteVirtualService[] {
  const layer = kind === "TCPRoute" ? "tcp" : "tls";
  return attachmentsOf(view, kind).map(({ route: { key, creationTimeMs, spec }, parent, host, index }) => ({
    key: { ...key, kind: "VirtualService", name: `${key.name}~${layer}~${index}~istio-autogenerated-k8s-gateway` },
    creationTimeMs,
    ...{ host, port: parent.port, layer },
    hasRules: spec.hasRules,
    isConsumer: false,
    routes: [key],
  }));
}

/** Routes with their hosts; those that are not followed are told of. */
function attachmentsOf(view: View, kind: RouteKind): Attachment[] {
  return view.row(meshRouteHeads(kind), "all").flatMap((route) => {
    if (route.spec.problem !== "") {
      report(view, route.key, `not followed: ${route.spec.problem}`);
      return [];
    }
    return route.spec.parents
      .flatMap((parent) => hostsOf(view, parent).map((host) => ({ route, parent, host })))
      .map((one, index) => ({ ...one, index }));
  });
}

function hostsOf(view: View, { kind, namespace, name }: MeshParent): readonly string[] {
  return kind === "Service"
    ? [`${name}.${namespace}.svc.${domainOf(view)}`]
    : view.read(serviceEntryHosts, `${namespace}/${name}`);
}

const serviceEntryHosts = query<readonly string[], string>("service-entry-hosts", (view, text) => {
  const [namespace = "", name = ""] = text.split("/");
  return view.config<ServiceEntry>("ServiceEntry", namespace, name)?.spec.hosts ?? [];
});

function countedName({ route: { key }, index }: Attachment): string {
  return `${key.namespace}/${key.name}~${index}`;
}

function specOf(view: View, { host, port, layer, routes, key: { namespace } }: RouteVirtualService): VirtualService {
  const context: RouteContext = {
    namespace,
    domain: domainOf(view),
    hasService: (hostname) => view.servicesByHost(hostname).length > 0,
  };
  const objects = routes.flatMap(
    ({ kind, namespace, name }) => view.config<never>(kind as RouteKind, namespace, name) ?? [],
  );
  if (layer === "http") {
    const http = objects.flatMap(({ key, spec }) =>
      key.kind === "HTTPRoute"
        ? httpRoutes(key, spec as HttpRouteSpec, port, context)
        : grpcRoutes(key, spec as GrpcRouteSpec, port, context),
    );
    return create(VirtualServiceSchema, { hosts: [host], http: [...inOrder(http)] });
  }
  const specs = objects.map(({ spec }) => spec as Layer4RouteSpec);
  return create(VirtualServiceSchema, {
    hosts: [host],
    ...(layer === "tcp" && { tcp: specs.flatMap((spec) => tcpRoutes(spec, port, context)) }),
    ...(layer === "tls" && { tls: specs.flatMap((spec) => tlsRoutes(spec, host, port, context)) }),
  });
}

function domainOf(view: View): string {
  return view.feature("domainSuffix");
}

function report(view: View, key: ConfigKey, message: string): void {
  view.report({ metric: "flotilla_refused_route", object: objectName(key), message });
}

function objectName({ kind, namespace, name }: ConfigKey): string {
  return `${kind}/${namespace}/${name}`;
}
