/**
 * The hosts that the servers of a route configuration and the VirtualServices of their Gateways share, with those whose routes each has. All of
 * them, or those of one part: a Gateway with thousands of hosts that have no wildcards computes a changed one's part anew.
 */
import { hostCovers, isWildcard, type TextOf, textCodec } from "@flotilla/model";
import { headsExtent, virtualServicesOf } from "../../../snapshot/scope/gateway-heads.ts";
import { type GatewayName, serverHost } from "../../../snapshot/scope/gateway-merge.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { type HostPart, hostParts, partOfHost } from "../../../snapshot/scope/route-plans.ts";
import { gatewayVirtualServices, type VirtualServiceHead } from "../../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { type Arrival, concernsProxy, type RoutesKey, routesKey } from "../../select/virtual-service-routes.ts";

/** `all`: the hosts are not in parts. */
type Part = HostPart | "all";

/** Part of a route configuration. */
export const routesPart = textCodec<"RoutesPart", { readonly routeName: string; readonly part: Part }>(
  "RoutesPart",
  " ",
  ["routeName", "part"],
);
export type RoutesPart = TextOf<typeof routesPart>;

const all: readonly Part[] = ["all"];

/** The parts of a route configuration; one for all hosts below the number from which on routes are sent host by host. */
export const partsOfRoutes = query<readonly RoutesPart[], string>("parts-of-routes", (view, routeName) => {
  const above = view.feature("scopedRoutesAbove");
  const servers = view.read(mergedGateways).routes.get(routeName) ?? [];
  const extents = [...new Set(servers.map(({ gateway }) => gateway))].map((one) => view.read(headsExtent, one));
  const count = extents.reduce((sum, one) => sum + one.count, 0);
  const isParted = above > 0 && count > above && extents.every(({ hasWildcards }) => !hasWildcards);
  return (isParted ? hostParts : all).map((part) => routesPart.write({ routeName, part }));
});

/** The part that has a host, if any has. */
export function partOfRoutes(view: View, routeName: string, host: string): RoutesPart {
  const [first, ...others] = view.read(partsOfRoutes, routeName);
  const part = others.length === 0 ? undefined : partOfHost(host);
  return part === undefined && first !== undefined ? first : routesPart.write({ routeName, part: part ?? "all" });
}

export interface SharedHost {
  /** Of the first server that has the host. */
  readonly port: number;
  readonly routes: RoutesKey[];
  redirects: boolean;
  /** No other host has the same routes: one of its VirtualServices has no other. */
  isAlone: boolean;
}

/** By host. */
export function sharedHosts(view: View, text: RoutesPart): ReadonlyMap<string, SharedHost> {
  const { routeName, part } = routesPart.read(text);
  const { routes: serversOf, http3Routes } = view.read(mergedGateways);
  const hosts = new Map<string, SharedHost>();
  const knownOf = new Map<GatewayName, Map<VirtualServiceHead, RoutesKey>>();
  const isOfPart = (host: string) => part === "all" || partOfHost(host) === part;
  for (const { gateway, server, hosts: serverHosts } of serversOf.get(routeName) ?? []) {
    const port = server.port?.number ?? 0;
    const redirects = server.tls?.httpsRedirect === true;
    const hostNamed = (hostname: string) => {
      const host = hosts.get(hostname) ?? { port, routes: [], redirects: false, isAlone: false };
      hosts.set(hostname, host);
      host.redirects ||= redirects;
      return host;
    };
    const hostsOfNamespace = hostsByNamespace(serverHosts);
    const arrival = http3Routes.has(routeName) ? "http3" : server.tls === undefined ? "plain" : "tls";
    const known = knownOf.get(gateway) ?? new Map<VirtualServiceHead, RoutesKey>();
    knownOf.set(gateway, known);
    for (const head of headsOf(view, gateway, part)) {
      const reached = hostsOfNamespace(head.namespace);
      if (!meet(reached, head.hosts)) continue;
      const routes = known.get(head) ?? routesOf(view, head, { port, gateway, arrival });
      if (routes === undefined) continue;
      // Servers of one Gateway share the routes of the first of them, whatever its port.
      known.set(head, routes);
      for (const hostname of intersection(reached, head.hosts.filter(isOfPart))) {
        const host = hostNamed(hostname);
        host.routes.push(routes);
        host.isAlone ||= head.hosts.length === 1 && !head.hosts.some(isWildcard);
      }
    }
    // As in istiod, a host that is limited to a namespace stands there with it, which no caller can ask for.
    if (redirects) for (const host of serverHosts.filter(isOfPart)) hostNamed(host);
  }
  return hosts;
}

function headsOf(view: View, gateway: GatewayName, part: Part): readonly VirtualServiceHead[] {
  return part === "all" ? gatewayVirtualServices(view, gateway) : virtualServicesOf(view, gateway, part);
}

function routesOf(
  view: View,
  head: VirtualServiceHead,
  { port, gateway, arrival }: { readonly port: number; readonly gateway: GatewayName; readonly arrival: Arrival },
): RoutesKey | undefined {
  return concernsProxy(view, head, port, gateway) ? routesKey(head.name, port, gateway, arrival) : undefined;
}

/** The hosts of a server that count for VirtualServices of a namespace. */
function hostsByNamespace(hosts: readonly string[]): (namespace: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  const hostsOf = (namespace: string) =>
    hosts.flatMap((text) => {
      const { namespace: home = namespace, host } = serverHost(text);
      return home === namespace ? [host] : [];
    });
  return (namespace) => {
    const found = known.get(namespace) ?? hostsOf(namespace);
    known.set(namespace, found);
    return found;
  };
}

function meet(servers: readonly string[], others: readonly string[]): boolean {
  return servers.some((host) => others.some((other) => narrowerOf(host, other) !== undefined));
}

/** Undefined where they do not overlap. */
function narrowerOf(host: string, other: string): string | undefined {
  return hostCovers(other, host) ? host : hostCovers(host, other) ? other : undefined;
}

/** Of each pair of hosts that overlap the narrower one. */
function intersection(servers: readonly string[], others: readonly string[]): readonly string[] {
  const narrower: string[] = [];
  for (const host of servers) {
    for (const other of others) {
      const shared = narrowerOf(host, other);
      if (shared !== undefined && !narrower.includes(shared)) narrower.push(shared);
    }
  }
  return narrower;
}
