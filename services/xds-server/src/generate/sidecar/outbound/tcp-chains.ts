/** Filter chains of TCP and TLS services: by VirtualService routes, else straight to the service. */
import {
  type Config,
  clusterName,
  compareText,
  hostsOverlap,
  isTls,
  parseCidr,
  type Service,
  type ServicePort,
} from "@flotilla/model";
import type {
  L4MatchAttributes,
  RouteDestination,
  TLSMatchAttributes,
  VirtualService,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { View } from "../../../snapshot/view.ts";
import { serviceDomains } from "../../envoy/routes/route-configuration.ts";
import { resolvedFamilies } from "../../select/dns.ts";
import { tcpPolicy } from "../../select/tcp-policy.ts";
import { type ArrivalPort, outboundStatName, tcpRoute } from "../../select/tcp-route.ts";
import type { TcpChain } from "./plan.ts";

export interface TcpTarget {
  readonly service: Service;
  readonly port: ServicePort;
  /** The port the listener has; differs from the service's for a Sidecar's own listener. */
  readonly listenPort: ServicePort;
  /** The service's address range, when that is what it has. */
  readonly cidr: string | undefined;
  /**
   * Where the listener takes connections to other addresses too, so that a TLS service is identified by its server name: the other names of
   * the service. Undefined where its address identifies it.
   */
  readonly aliases: readonly string[] | undefined;
  readonly virtualServices: readonly Config<VirtualService>[];
  /** For which routes of them count: that of a router, or the one that means all sidecars. */
  readonly gateway: string;
}

export function tcpChains(view: View, target: TcpTarget): readonly TcpChain[] {
  if (isTls(target.listenPort.protocol)) {
    const chains = tlsRouteChains(view, target);
    return chains.length > 0 ? chains : [defaultChain(view, target, serverNamesOf(view, target))];
  }
  const chains = tcpRouteChains(view, target);
  return chains.some(({ prefixes }) => sameList(prefixes, cidrs(target)))
    ? chains
    : [...chains, defaultChain(view, target, [])];
}

function defaultChain(view: View, target: TcpTarget, serverNames: readonly string[]): TcpChain {
  const { service, port, listenPort } = target;
  const cluster = clusterName("outbound", port.number, "", service.hostname);
  return {
    carries: "tcp",
    serverNames,
    prefixes: cidrs(target),
    statPrefix: outboundStatName(view, arrivalPort(target), cluster, { host: service.hostname, subset: "" }),
    clusters: cluster,
    protocol: listenPort.protocol,
    policy: tcpPolicy(view, { host: service.hostname, subset: "" }),
    ...(service.resolution === "dynamic-dns" && {
      byServerName: {
        dnsCache: { hostname: service.hostname, ipMode: resolvedFamilies(view), resolver: "" },
        port: port.number,
      },
    }),
  };
}

/** The host itself, and each form of the names that stand for it. */
function serverNamesOf(view: View, { service, aliases }: TcpTarget): readonly string[] {
  if (aliases === undefined) return [];
  const mayEndInDot = view.feature("absoluteFqdnDomains");
  const formsOf = (alias: string) =>
    serviceDomains(
      { hostname: alias, aliases: [], addresses: [], hasPodNames: false, mayEndInDot },
      view.proxy.dnsDomain,
    ).all;
  return [service.hostname, ...aliases.flatMap(formsOf)];
}

function cidrs({ cidr }: TcpTarget): readonly string[] {
  return cidr === undefined ? [] : [cidr];
}

/** Every VirtualService with a host that the service's covers or is covered by, in order of precedence. */
function virtualServicesFor({ service, virtualServices }: TcpTarget): readonly Config<VirtualService>[] {
  return virtualServices.filter(({ spec }) => spec.hosts.some((host) => hostsOverlap(host, service.hostname)));
}

/** As in istiod, ranges that a match names hold for the matches after it that name none. */
function tlsRouteChains(view: View, target: TcpTarget): readonly TcpChain[] {
  const seen = new Set<string>();
  const chains: TcpChain[] = [];
  let ranges = cidrs(target);
  for (const config of virtualServicesFor(target)) {
    for (const route of config.spec.tls) {
      for (const match of route.match.filter((one) => applies(view, target, one))) {
        const { sniHosts, destinationSubnets } = match;
        if (destinationSubnets.length > 0) ranges = destinationSubnets;
        if (!isNew(seen, `${sniHosts.join()}|${destinationSubnets.join()}`)) continue;
        chains.push(chain(view, target, config, route.route, sniHosts, ranges));
      }
    }
  }
  return chains;
}

/** Routes count up to the first that takes everything. The ranges of a route's matches share a chain; the same ranges again are left out. */
function tcpRouteChains(view: View, target: TcpTarget): readonly TcpChain[] {
  const chains: TcpChain[] = [];
  const seen = new Set<string>();
  for (const config of virtualServicesFor(target)) {
    for (const route of config.spec.tcp) {
      const matches = route.match.filter((one) => applies(view, target, one));
      if (route.match.length === 0 || matches.some(({ destinationSubnets }) => destinationSubnets.length === 0))
        return [...chains, chain(view, target, config, route.route, [], cidrs(target))];
      const ranges = [...new Set(matches.flatMap(({ destinationSubnets }) => destinationSubnets))].sort(compareText);
      if (ranges.length === 0 || !isNew(seen, ranges.join())) continue;
      // As in istiod, such a chain does not name its origin.
      const { origin: _, ...anonymous } = chain(view, target, config, route.route, [], ranges);
      chains.push(anonymous);
    }
  }
  return chains;
}

function isNew(seen: Set<string>, key: string): boolean {
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

function applies(
  view: View,
  { listenPort, gateway }: TcpTarget,
  match: L4MatchAttributes | TLSMatchAttributes,
): boolean {
  if (match.port !== 0 && match.port !== listenPort.number) return false;
  if (match.sourceNamespace !== "" && match.sourceNamespace !== view.proxy.namespace) return false;
  if (match.gateways.length > 0 && !match.gateways.includes(gateway)) return false;
  return view.proxy.matches(match.sourceLabels);
}

function chain(
  view: View,
  target: TcpTarget,
  { key }: Config<VirtualService>,
  destinations: readonly RouteDestination[],
  serverNames: readonly string[],
  prefixes: readonly string[],
): TcpChain {
  return {
    carries: "tcp",
    serverNames,
    prefixes: prefixes.filter((prefix) => parseCidr(prefix) !== undefined),
    protocol: target.listenPort.protocol,
    ...tcpRoute(view, key, destinations, { ...arrivalPort(target), name: target.listenPort.name }),
    origin: `/apis/networking.istio.io/v1/namespaces/${key.namespace}/virtual-service/${key.name}`,
  };
}

function arrivalPort({ port, service }: TcpTarget): ArrivalPort {
  return { number: port.number, service };
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
