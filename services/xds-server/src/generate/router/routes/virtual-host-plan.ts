/**
 * Virtual hosts of a router's route configuration: one for each host that a server and a VirtualService of its Gateway share. Names and
 * reach only, no routes: those change more often.
 */
import { compareSpecificity, compareText, hostCovers, type TextOf, textCodec } from "@flotilla/model";
import { type GatewayName, type GatewayServer, plainHost, serverHost } from "../../../snapshot/scope/gateway-merge.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { misdirectedHosts } from "../../../snapshot/scope/misdirected-hosts.ts";
import { gatewayVirtualServices, type VirtualServiceHead } from "../../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { inUrl } from "../../envoy/routes/route-configuration.ts";
import { addsAttemptCount } from "../../select/proxy-headers.ts";
import { type Arrival, concernsProxy, type RoutesKey, routesKey } from "../../select/virtual-service-routes.ts";

/** A virtual host but for its routes. */
export interface RouterHost {
  readonly name: string;
  readonly domains: readonly string[];
  /** Whose routes it has, in order. */
  readonly routes: readonly RoutesKey[];
  /** Plain requests are sent to HTTPS. */
  readonly redirects: boolean;
  /** True where requests to backends carry the attempt count. */
  readonly countsAttempts: boolean;
  /** All requests are answered with 421 (Misdirected Request): they came over a connection for other hosts. */
  readonly isMisdirected: boolean;
}

/** Lists are written with spaces. */
const hostFields = textCodec<
  "RouterHost",
  {
    readonly name: string;
    readonly redirects: "redirects" | "";
    readonly countsAttempts: "counted" | "";
    readonly isMisdirected: "misdirected" | "";
    readonly domains: string;
    readonly routes: string;
  }
>("RouterHost", "|", ["name", "redirects", "countsAttempts", "isMisdirected", "domains", "routes"]);

export type RouterHostText = TextOf<typeof hostFields>;

/** The identity of a host: equal texts are the same host, of whichever router. */
export const routerHost = {
  write: (host: RouterHost): RouterHostText =>
    hostFields.write({
      name: host.name,
      redirects: host.redirects ? "redirects" : "",
      countsAttempts: host.countsAttempts ? "counted" : "",
      isMisdirected: host.isMisdirected ? "misdirected" : "",
      domains: host.domains.join(" "),
      routes: host.routes.join(" "),
    }),
  read: (text: RouterHostText): RouterHost => {
    const { name, redirects, countsAttempts, isMisdirected, domains, routes } = hostFields.read(text);
    return {
      name,
      domains: domains.split(" "),
      routes: routes === "" ? [] : (routes.split(" ") as RoutesKey[]),
      redirects: redirects !== "",
      countsAttempts: countsAttempts !== "",
      isMisdirected: isMisdirected !== "",
    };
  },
};

/** The virtual hosts of a route configuration, ordered by name. */
export const routerHostPlan = query<readonly RouterHostText[], string>("router-host-plan", (view, routeName) => {
  const { routes, http3Routes } = view.read(mergedGateways);
  const servers = routes.get(routeName) ?? [];
  const hosts = sharedHosts(view, servers, http3Routes.has(routeName));
  const port = servers[0]?.server.port?.number ?? 0;
  const misdirected = [...view.read(misdirectedHosts, routeName)].filter((host) => !hosts.has(host));
  if (hosts.size === 0 && misdirected.length === 0) return [routerHost.write(answering(`blackhole:${port}`, ["*"]))];
  const countsAttempts = view.read(addsAttemptCount);
  const joined = view.feature("mergesEqualRoutes") ? withoutRepetition(hosts) : each(hosts);
  const routed = joined.map(({ hostnames, port, routes, redirects }) => {
    const name = `${inUrl(hostnames[0] ?? "")}:${port}`;
    return { name, domains: hostnames, routes: [...routes.values()], redirects, countsAttempts, isMisdirected: false };
  });
  return [...routed, ...elsewhere({ misdirected, servers, hosts, port })]
    .sort((a, b) => compareText(a.name, b.name))
    .map(routerHost.write);
});

interface Elsewhere {
  readonly misdirected: readonly string[];
  readonly servers: readonly GatewayServer[];
  readonly hosts: ReadonlyMap<string, SharedHost>;
  readonly port: number;
}

/** Hosts of other listeners; those of the own servers that nothing is routed for are not theirs, however wide theirs are. */
function elsewhere({ misdirected, servers, hosts, port }: Elsewhere): readonly RouterHost[] {
  if (misdirected.length === 0) return [];
  const own = new Set(servers.flatMap((server) => server.hosts.map(plainHost)));
  const unrouted = [...own].filter((host) => !hosts.has(host)).sort();
  return [
    ...(unrouted.length > 0 ? [answering(`blackhole:${port}`, unrouted)] : []),
    { ...answering(`misdirected:${port}`, misdirected), isMisdirected: true },
  ];
}

/** Without routes: requests are answered with 404. */
function answering(name: string, domains: readonly string[]): RouterHost {
  return { name, domains, routes: [], redirects: false, countsAttempts: false, isMisdirected: false };
}

interface SharedHost {
  /** Of the first server that has the host. */
  readonly port: number;
  readonly routes: RoutesKey[];
  redirects: boolean;
}

function sharedHosts(
  view: View,
  servers: readonly GatewayServer[],
  advertisesHttp3: boolean,
): ReadonlyMap<string, SharedHost> {
  const hosts = new Map<string, SharedHost>();
  const knownOf = new Map<GatewayName, Map<VirtualServiceHead, RoutesKey>>();
  for (const { gateway, server, hosts: serverHosts } of servers) {
    const port = server.port?.number ?? 0;
    const redirects = server.tls?.httpsRedirect === true;
    const hostNamed = (hostname: string) => {
      const host = hosts.get(hostname) ?? { port, routes: [], redirects: false };
      hosts.set(hostname, host);
      host.redirects ||= redirects;
      return host;
    };
    const hostsOfNamespace = hostsByNamespace(serverHosts);
    const arrival = advertisesHttp3 ? "http3" : server.tls === undefined ? "plain" : "tls";
    const known = knownOf.get(gateway) ?? new Map<VirtualServiceHead, RoutesKey>();
    knownOf.set(gateway, known);
    for (const head of gatewayVirtualServices(view, gateway)) {
      const shared = intersection(hostsOfNamespace(head.namespace), head.hosts);
      if (shared.length === 0) continue;
      const routes = known.get(head) ?? routesOf(view, head, { port, gateway, arrival });
      if (routes === undefined) continue;
      // Servers of one Gateway share the routes of the first of them, whatever its port.
      known.set(head, routes);
      for (const hostname of shared) hostNamed(hostname).routes.push(routes);
    }
    if (redirects) for (const host of serverHosts) hostNamed(plainHost(host));
  }
  return hosts;
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

/** Of each pair of hosts that overlap the narrower one. */
function intersection(servers: readonly string[], others: readonly string[]): readonly string[] {
  const narrower: string[] = [];
  for (const host of servers) {
    for (const other of others) {
      const shared = hostCovers(other, host) ? host : hostCovers(host, other) ? other : undefined;
      if (shared !== undefined && !narrower.includes(shared)) narrower.push(shared);
    }
  }
  return narrower;
}

interface JoinedHost extends SharedHost {
  readonly hostnames: readonly string[];
}

function each(hosts: ReadonlyMap<string, SharedHost>): readonly JoinedHost[] {
  return [...hosts].map(([hostname, host]) => ({ ...host, hostnames: [hostname] }));
}

/** Hosts with the same routes are one virtual host, named after the most specific. */
function withoutRepetition(hosts: ReadonlyMap<string, SharedHost>): readonly JoinedHost[] {
  const joined = new Map<string, string[]>();
  for (const [hostname, { routes, redirects }] of hosts) {
    const key = redirects ? `redirected ${routes.join(" ")}` : routes.join(" ");
    const hostnames = joined.get(key);
    if (hostnames === undefined) joined.set(key, [hostname]);
    else hostnames.push(hostname);
  }
  return [...joined.values()].flatMap((hostnames) => {
    const first = hosts.get(hostnames.sort(compareSpecificity)[0] ?? "");
    return first === undefined ? [] : { ...first, hostnames };
  });
}
