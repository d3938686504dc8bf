/**
 * Selects the VirtualServices that a proxy follows. The inputs of the selection (hosts, gateways, exportTo, and the proxies meant by
 * matches) are indexed apart from the rest of the routes, so that a change of routes does not touch the selection.
 */
import { hasGatewaySemantics, meshGateway, type RouteVirtualService } from "@flotilla/gateway-api";
import {
  type Config,
  compareByAge,
  equalJson,
  hostCovers,
  hostsOverlap,
  type TextOf,
  textCodec,
} from "@flotilla/model";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";
import type { GatewayName } from "./gateway-merge.ts";
import { ingressRoutes } from "./ingresses.ts";
import { listenerGateways } from "./kubernetes-gateways.ts";
import { type RoutePart, routeParts, routePlans } from "./route-plans.ts";
import { completeNames, reachOf } from "./services.ts";
import { type ListenerName, listenerHosts, listenerOf } from "./sidecar.ts";
import { unknownDestinations, type VirtualServiceName, virtualService, virtualServiceName } from "./virtual-service.ts";

export { meshGateway };

/** Whom a match concerns, whatever else it asks of a request. */
export interface MatchHead {
  readonly port: number;
  readonly gateways: readonly string[];
  readonly sourceLabels: Readonly<Record<string, string>>;
  readonly sourceNamespace: string;
}

export interface VirtualServiceHead {
  readonly name: VirtualServiceName;
  readonly namespace: string;
  readonly hosts: readonly string[];
  readonly gateways: readonly string[];
  readonly exportTo: readonly string[];
  /** The matches of each HTTP route; a route without any takes everything. */
  readonly http: readonly (readonly MatchHead[])[];
  readonly hasDelegates: boolean;
  /** Has TCP or TLS routes. */
  readonly isLayer4: boolean;
  /** See `hasGatewaySemantics`. */
  readonly hasGatewaySemantics: boolean;
}

/** Heads of all VirtualServices but delegates, which have no hosts; in one row. */
export const virtualServiceIndex: RowIndex<VirtualService> = {
  name: "virtual-service-heads",
  kind: "VirtualService",
  keysOf: ({ spec }) => (spec.hosts.length === 0 ? [] : ["all"]),
  project: writtenHead,
};

function writtenHead({ key, creationTimeMs, annotations, spec }: Config<VirtualService>): Config<VirtualServiceHead> {
  return {
    key,
    creationTimeMs,
    labels: {},
    annotations: {},
    spec: {
      name: virtualServiceName.write(key),
      namespace: key.namespace,
      hosts: spec.hosts,
      gateways: spec.gateways.length === 0 ? [meshGateway] : spec.gateways,
      exportTo: spec.exportTo,
      http: spec.http.map(({ match }) => match.map(matchHead)),
      hasDelegates: spec.http.some(({ delegate }) => delegate !== undefined),
      isLayer4: spec.tcp.length + spec.tls.length > 0,
      hasGatewaySemantics: hasGatewaySemantics(annotations),
    },
  };
}

function matchHead({ port, gateways, sourceLabels, sourceNamespace }: MatchHead): MatchHead {
  return { port, gateways, sourceLabels, sourceNamespace };
}

/** All VirtualServices that are no delegates and all that Ingresses stand for, oldest first. */
const writtenHeads = query<readonly Config<VirtualServiceHead>[]>("virtual-service-heads", (view) => {
  const objects = view.read(virtualServiceObjects);
  const ingresses = [...view.read(ingressRoutes).values()];
  if (ingresses.length === 0) return objects;
  const exportTo = view.mesh.defaultVirtualServiceExportTo;
  const ofIngresses = ingresses.map(writtenHead).map((head) => headConfig(head, { ...head.spec, exportTo }));
  return [...objects, ...ofIngresses].sort(compareByAge);
});

const virtualServiceObjects = query<readonly Config<VirtualServiceHead>[]>("virtual-service-objects", (view) =>
  view
    .row(virtualServiceIndex as RowIndex<unknown> as RowIndex<VirtualServiceHead>, "all")
    .map(({ key, creationTimeMs, spec: head }) => {
      const names = completeNames(view, head.namespace);
      return headConfig(
        { key, creationTimeMs },
        {
          ...head,
          hosts: head.hosts.map((host) => names.host(host).toLowerCase()),
          gateways: head.gateways.map(names.gateway),
          exportTo: head.exportTo.length === 0 ? view.mesh.defaultVirtualServiceExportTo : head.exportTo,
          http: head.http.map((matches) =>
            matches.map((match) => ({ ...match, gateways: match.gateways.map(names.gateway) })),
          ),
        },
      );
    }),
);

function headConfig(
  { key, creationTimeMs }: Pick<Config, "key" | "creationTimeMs">,
  spec: VirtualServiceHead,
): Config<VirtualServiceHead> {
  return { key, creationTimeMs, labels: {}, annotations: {}, spec };
}

function routeHead(route: RouteVirtualService, defaultExportTo: readonly string[]): VirtualServiceHead {
  const { key, gateway, hosts, port, layer, hasRules, isConsumer } = route;
  const match = { port, gateways: [], sourceLabels: {}, sourceNamespace: "" };
  return {
    name: virtualServiceName.write(key),
    namespace: key.namespace,
    hosts,
    gateways: [gateway],
    exportTo: isConsumer ? ["."] : defaultExportTo,
    http: layer === "http" && hasRules ? [[match]] : [],
    hasDelegates: false,
    isLayer4: layer !== "http",
    hasGatewaySemantics: true,
  };
}

const gatewayAudience = textCodec("GatewayAudience", " ", ["namespace", "gateway"]);
type GatewayAudience = TextOf<typeof gatewayAudience>;

export type HeadsByGateway = ReadonlyMap<string, readonly Config<VirtualServiceHead>[]>;

/** Those that are objects and those of Ingresses. */
export const writtenHeadsByGateway = query<HeadsByGateway>("written-heads-by-gateway", (view) =>
  byGateway(view.read(writtenHeads)),
);

export const routeHeadsByGateway = query<HeadsByGateway, RoutePart>("route-heads-by-gateway", (view, part) => {
  const exportTo = view.mesh.defaultVirtualServiceExportTo;
  const plans = [...view.read(routePlans, part).values()];
  return byGateway(plans.map((plan) => headConfig(plan, routeHead(plan, exportTo))).sort(compareByAge));
});

function byGateway(configs: readonly Config<VirtualServiceHead>[]): HeadsByGateway {
  const found = new Map<string, Config<VirtualServiceHead>[]>();
  for (const config of configs) {
    for (const gateway of new Set(config.spec.gateways)) {
      const heads = found.get(gateway) ?? [];
      heads.push(config);
      found.set(gateway, heads);
    }
  }
  return found;
}

/** Oldest first. Routes are for listeners of the Gateway API and for the mesh. */
const headsOfGateway = query<readonly VirtualServiceHead[], string>("heads-of-gateway", (view, gateway) => {
  const written = view.read(writtenHeadsByGateway).get(gateway) ?? [];
  const ofRoutes = partsFor(view, gateway).flatMap((part) => view.read(routeHeadsByGateway, part).get(gateway) ?? []);
  return headsByAge(written, ofRoutes);
});

/** Those for callers in the mesh by the hosts that they name, exported or not. */
export const meshVirtualServicesByHost = query<ReadonlyMap<string, readonly VirtualServiceName[]>>(
  "mesh-virtual-services-by-host",
  (view) => {
    const pairs = view
      .read(headsOfGateway, meshGateway)
      .flatMap(({ name, hosts }) => hosts.map((host) => ({ host, name })));
    return new Map(
      [...Map.groupBy(pairs, ({ host }) => host)].map(([host, found]) => [host, found.map(({ name }) => name)]),
    );
  },
  (a, b) => a !== undefined && equalJson([...a], [...b]),
);

/** @param written oldest first */
export function headsByAge(
  written: readonly Config<VirtualServiceHead>[],
  ofRoutes: readonly Config<VirtualServiceHead>[],
): readonly VirtualServiceHead[] {
  return (ofRoutes.length === 0 ? written : [...written, ...ofRoutes].sort(compareByAge)).map(({ spec }) => spec);
}

/** The parts of routes that a gateway may have VirtualServices of. */
export function partsFor(view: View, gateway: string): readonly RoutePart[] {
  if (gateway === meshGateway) return routeParts.mesh;
  return view.read(listenerGateways).has(gateway) ? routeParts.gateways : [];
}

const virtualServicesFor = query<readonly VirtualServiceHead[], GatewayAudience>(
  "virtual-services-for",
  (view, text) => {
    const { namespace, gateway } = gatewayAudience.read(text);
    return visibleHeads(view.read(headsOfGateway, gateway), namespace);
  },
);

/**
 * Of VirtualServices, oldest first, those that are visible to a namespace, in order of precedence: private ones and routes of its own, those
 * exported to it, those of everybody; each oldest first.
 */
export function visibleHeads(heads: readonly VirtualServiceHead[], namespace: string): readonly VirtualServiceHead[] {
  const [own, named, everyone]: [VirtualServiceHead[], VirtualServiceHead[], VirtualServiceHead[]] = [[], [], []];
  for (const head of heads) {
    const reach = reachOf(head.exportTo, head.namespace, namespace);
    const isOwnRoute = head.hasGatewaySemantics && head.namespace === namespace && reach !== "hidden";
    if (reach === "own" || isOwnRoute) own.push(head);
    else if (reach === "named") named.push(head);
    else if (reach === "everyone") everyone.push(head);
  }
  return [...own, ...named, ...everyone];
}

/** The VirtualServices that a router follows for one of its Gateways, in order of precedence. */
export function gatewayVirtualServices(view: View, gateway: GatewayName): readonly VirtualServiceHead[] {
  return view.read(virtualServicesFor, gatewayAudience.write({ namespace: view.proxy.namespace, gateway }));
}

/** The heads of the VirtualServices an egress listener imports, in order of precedence. */
export const listenerHeads = query<readonly VirtualServiceHead[], ListenerName>("listener-heads", (view, listener) => {
  const { namespace, spec } = listenerOf(view, listener);
  if (spec === undefined) return [];
  const hosts = listenerHosts(spec, namespace);
  return view.read(virtualServicesFor, gatewayAudience.write({ namespace, gateway: meshGateway })).filter((head) => {
    const imported = hosts.importedFrom(head.namespace);
    return head.hosts.some(
      (host) => imported.some((one) => isImported(head, one, host)) && !hosts.isExcluded(head.namespace, host),
    );
  });
});

/** Hosts of routes are imported as services are. */
function isImported({ hasGatewaySemantics }: VirtualServiceHead, imported: string, host: string): boolean {
  return hasGatewaySemantics ? hostCovers(imported, host) : hostsOverlap(imported, host);
}

/** The VirtualServices of an egress listener that have TCP or TLS routes, in order of precedence. */
export function layer4VirtualServices(view: View, listener: ListenerName): readonly Config<VirtualService>[] {
  return view
    .read(listenerHeads, listener)
    .filter(({ isLayer4 }) => isLayer4)
    .map(({ name }) => {
      view.read(unknownDestinations, name);
      return view.read(virtualService, name);
    })
    .filter((config) => config !== undefined);
}

interface RoutedHost {
  readonly host: string;
  /** Undefined: any that the host has. */
  readonly port: number | undefined;
  /** Whose proxies are meant; none: everybody's. */
  readonly namespaces: readonly string[];
}

/** Where a VirtualService sends traffic. */
export const virtualServiceDestinations = query<readonly RoutedHost[], VirtualServiceName>(
  "virtual-service-destinations",
  (view, name) => {
    const spec = view.read(virtualService, name)?.spec;
    return spec === undefined ? [] : destinations(spec);
  },
  equalJson,
);

function destinations(spec: VirtualService): readonly RoutedHost[] {
  const http = spec.http.map(({ match, route, mirror, mirrors }) => {
    return { match, to: [...route, ...mirrors, { destination: mirror }] };
  });
  const other = [...spec.tcp, ...spec.tls].map(({ match, route }) => ({ match, to: route }));
  return [...http, ...other].flatMap(({ match, to }) => {
    const sources = match.map(({ sourceNamespace }) => sourceNamespace);
    const namespaces = sources.includes("") ? [] : sources;
    return to.flatMap(({ destination }) =>
      destination === undefined ? [] : [{ host: destination.host, port: destination.port?.number, namespaces }],
    );
  });
}
