/**
 * Virtual hosts of a router's route configuration: one for each host that a server and a VirtualService of its Gateway share. Names and
 * reach only, no routes: those change more often.
 */
import { compareSpecificity, compareText, type TextOf, textCodec } from "@flotilla/model";
import { plainHost } from "../../../snapshot/scope/gateway-merge.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { misdirectedHosts } from "../../../snapshot/scope/misdirected-hosts.ts";
import { query } from "../../../snapshot/view.ts";
import { inUrl } from "../../envoy/routes/route-configuration.ts";
import { addsAttemptCount } from "../../select/proxy-headers.ts";
import type { RoutesKey } from "../../select/virtual-service-routes.ts";
import { partOfRoutes, partsOfRoutes, type RoutesPart, sharedHosts } from "./shared-hosts.ts";

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

interface PartHosts {
  /** Virtual hosts as they are sent, ordered by name. */
  readonly alone: readonly RouterHostText[];
  /** Those that are one virtual host with others of the same routes, whichever parts these are in. */
  readonly joinable: readonly RouterHostText[];
  readonly hostnames: ReadonlySet<string>;
}

const hostsOfPart = query<PartHosts, RoutesPart>(
  "router-hosts-of-part",
  (view, text) => {
    const shared = sharedHosts(view, text);
    const joins = view.feature("mergesEqualRoutes");
    const countsAttempts = shared.size > 0 && view.read(addsAttemptCount);
    const hosts = [...shared].map(([hostname, { port, routes, redirects, isAlone }]) => {
      const name = `${inUrl(hostname)}:${port}`;
      const host = { name, domains: [hostname], routes, redirects, countsAttempts, isMisdirected: false };
      return { host, isAlone: isAlone || !joins };
    });
    const texts = (isAlone: boolean) => hosts.flatMap((one) => (one.isAlone === isAlone ? one.host : []));
    return {
      alone: inOrder(texts(true)),
      joinable: inOrder(texts(false)),
      hostnames: new Set(shared.keys()),
    };
  },
  (a, b) => sameTexts(a.alone, b.alone) && sameTexts(a.joinable, b.joinable),
);

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}

function inOrder(hosts: readonly RouterHost[]): readonly RouterHostText[] {
  return hosts.toSorted((a, b) => compareText(a.name, b.name)).map(routerHost.write);
}

/** The virtual hosts of a part that have no domain of another part. */
export const hostsWithinPart = query<readonly RouterHostText[], RoutesPart>(
  "router-hosts-within-part",
  (view, part) => view.read(hostsOfPart, part).alone,
);

const joinableHosts = query<readonly RouterHostText[], RoutesPart>(
  "joinable-router-hosts",
  (view, part) => view.read(hostsOfPart, part).joinable,
);

const isShared = query<boolean, TextOf<typeof hostInPart>>("is-shared-host", (view, text) => {
  const { host, part } = hostInPart.read(text);
  return view.read(hostsOfPart, part).hostnames.has(host);
});

const hostInPart = textCodec<"HostInPart", { readonly host: string; readonly part: RoutesPart }>("HostInPart", " ", [
  "host",
  "part",
]);

/** The virtual hosts of a route configuration that are of no single part: those that are joined, and those without routes. */
export const hostsAcrossParts = query<readonly RouterHostText[], string>("router-hosts-across-parts", (view, name) => {
  const parts = view.read(partsOfRoutes, name);
  const joined = withoutRepetition(parts.flatMap((part) => view.read(joinableHosts, part)).map(routerHost.read));
  const isRouted = (host: string) =>
    view.read(isShared, hostInPart.write({ host, part: partOfRoutes(view, name, host) }));
  const servers = view.read(mergedGateways).routes.get(name) ?? [];
  const port = servers[0]?.server.port?.number ?? 0;
  const misdirected = view.read(misdirectedHosts, name).filter((host) => !isRouted(host));
  if (misdirected.length === 0) {
    const isEmpty = joined.length === 0 && parts.every((part) => view.read(hasNoHosts, part));
    return isEmpty ? [routerHost.write(answering(`blackhole:${port}`, ["*"]))] : inOrder(joined);
  }
  // Hosts of the own servers that nothing is routed for are not another listener's, however wide that one's are.
  const own = new Set(servers.flatMap(({ hosts }) => hosts.map(plainHost)));
  const unrouted = [...own].filter((host) => !isRouted(host)).sort();
  return inOrder([
    ...joined,
    ...(unrouted.length > 0 ? [answering(`blackhole:${port}`, unrouted)] : []),
    { ...answering(`misdirected:${port}`, misdirected), isMisdirected: true },
  ]);
});

const hasNoHosts = query<boolean, RoutesPart>(
  "has-no-router-hosts",
  (view, part) => view.read(hostsOfPart, part).hostnames.size === 0,
);

/** The virtual hosts of a route configuration, ordered by name. */
export const routerHostPlan = query<readonly RouterHostText[], string>("router-host-plan", (view, routeName) => {
  const within = view.read(partsOfRoutes, routeName).flatMap((part) => view.read(hostsWithinPart, part));
  return [...within, ...view.read(hostsAcrossParts, routeName)]
    .map((text) => ({ text, name: hostFields.read(text).name }))
    .sort((a, b) => compareText(a.name, b.name))
    .map(({ text }) => text);
});

/** Without routes: requests are answered with 404. */
function answering(name: string, domains: readonly string[]): RouterHost {
  return { name, domains, routes: [], redirects: false, countsAttempts: false, isMisdirected: false };
}

/** Hosts with the same routes are one virtual host, named after the most specific. */
function withoutRepetition(hosts: readonly RouterHost[]): readonly RouterHost[] {
  const groups = Map.groupBy(hosts, ({ routes, redirects }) => `${redirects ? "redirected " : ""}${routes.join(" ")}`);
  return [...groups.values()].flatMap((members) => {
    const sorted = members.toSorted((a, b) => compareSpecificity(a.domains[0] ?? "", b.domains[0] ?? ""));
    return sorted.slice(0, 1).map((first) => ({ ...first, domains: sorted.flatMap(({ domains }) => domains) }));
  });
}
