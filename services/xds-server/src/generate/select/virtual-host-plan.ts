/**
 * Virtual hosts of a sidecar's route configuration: one for each service and for each other host of a VirtualService, with the domains that
 * are left to it. Names and reach only, no routes: those change more often.
 */
import {
  compareText,
  hostCovers,
  hostsOverlap,
  isHttp,
  isUnsupported,
  isWildcard,
  parseProtocol,
  type Service,
  type ServicePort,
} from "@flotilla/model";
import { type EgressListener, type ListenerName, proxyEgressListeners } from "../../snapshot/scope/sidecar.ts";
import { importedAliases, listenerServices } from "../../snapshot/scope/sidecar-scope.ts";
import { listenerHeads, meshGateway, type VirtualServiceHead } from "../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type ListenerRoute, parseRouteName } from "../envoy/routes/route-configuration.ts";
import { assignDomains, hostName, hostPlan, type PlannedHost, type PlanText } from "./planned-host.ts";
import { concernsProxy } from "./virtual-service-routes.ts";

/** The virtual hosts of a route configuration, ordered by name, as texts that `encodedVirtualHost` understands. */
export const virtualHostPlan = query<readonly PlanText[], string>("virtual-host-plan", (view, routeName) => {
  const route = parseRouteName(routeName);
  const listener = route === undefined ? undefined : egressListenerFor(view, routeName, route.port);
  if (route === undefined || listener === undefined) return [];
  const port = routedPort(listener, route);
  const hosts = assignDomains(view, plannedHosts(view, listener.name, port), port, (service) =>
    importedAliases(view, listener.name, service),
  );
  if (!route.isOfOneService) return hosts.map(hostPlan.write);
  const own = hosts.filter((host) => hostName(host) === routeName);
  const sniffed = own.length > 0 ? own : hosts;
  return sniffed.map((host) => hostPlan.write({ ...host, takesAll: sniffed.length === 1 }));
});

/** VirtualServices in order of precedence first, then the services they leave. */
function plannedHosts(view: View, listener: ListenerName, port: number): readonly PlannedHost[] {
  // Hosts of VirtualServices are in lower case. As in istiod, those of a listener for all ports meet services that are written so, too.
  const keyOf = ({ hostname }: Service) => (port === 0 ? hostname : hostname.toLowerCase());
  const services = new Map<string, Service>();
  for (const service of view.read(listenerServices, listener)) {
    const isServed = ({ number, protocol }: ServicePort) => number === port && protocol !== "UDP";
    if (port === 0 || service.ports.some(isServed)) services.set(keyOf(service), service);
  }
  const heads = view.read(listenerHeads, listener);
  const owners = wildcardOwners(heads, services);
  const planned: PlannedHost[] = [];
  const taken = new Set<string>();
  for (const head of heads) {
    const { owned, others } = hostsOf(head, services, owners);
    // On port 80 alone a host is routed that no service stands for. Source: scenario virtualservice/hosts-and-conflicts.
    if (port !== 80 && owned.length === 0) continue;
    if (!concernsProxy(view, head, port, meshGateway)) continue;
    const pairs = owned.flatMap((service) => httpPorts(service, port).map((number) => ({ service, number })));
    const ports = new Set(pairs.length === 0 && port === 80 ? [80] : pairs.map(({ number }) => number));
    // Before the services, so that a host keeps its domain where it is also a short name of one of them.
    for (const number of ports) {
      // Where requests for any port arrive, a host that no service stands for is called without a port, which means 80.
      if (port === 0 && number !== 80) continue;
      planned.push(
        ...others.map((hostname) => ({ hostname, port: number, service: undefined, virtualService: head.name })),
      );
    }
    for (const { service, number } of pairs) {
      planned.push({ hostname: service.hostname, port: number, service, virtualService: head.name });
      taken.add(service.hostname);
    }
  }
  const left = [...services.values()].filter(
    (service) => !taken.has(service.hostname) && service.resolution !== "alias",
  );
  for (const service of left.sort((a, b) => compareText(a.hostname, b.hostname))) {
    for (const number of httpPorts(service, port)) {
      planned.push({ hostname: service.hostname, port: number, service, virtualService: undefined });
    }
  }
  return planned;
}

/** The services and the other hosts that a VirtualService speaks for. */
function hostsOf(
  head: VirtualServiceHead,
  services: ReadonlyMap<string, Service>,
  owners: ReadonlyMap<string, VirtualServiceHead>,
): { readonly owned: readonly Service[]; readonly others: readonly string[] } {
  const owned: Service[] = [];
  const others: string[] = [];
  for (const host of head.hosts) {
    // Of routes only hosts count that a service has by the same name. Source: corpus xds, core/TestSidecarRoutes/httproute.
    if (head.hasGatewaySemantics && (isWildcard(host) || !services.has(host))) continue;
    const exact = isWildcard(host) ? undefined : services.get(host);
    if (exact !== undefined) owned.push(exact);
    const within = isWildcard(host) ? [...services].filter(([hostname]) => hostsOverlap(host, hostname)) : [];
    owned.push(...within.filter(([hostname]) => owners.get(hostname) === head).map(([, service]) => service));
    // A wildcard within which services are is theirs, also where other VirtualServices speak for all of them.
    if (exact === undefined && within.length === 0) others.push(host);
  }
  return { owned, others };
}

/** Of all VirtualServices that cover a service by wildcard or by name, the one with the most specific host. */
function wildcardOwners(
  heads: readonly VirtualServiceHead[],
  services: ReadonlyMap<string, Service>,
): ReadonlyMap<string, VirtualServiceHead> {
  const exact = new Map<string, VirtualServiceHead>();
  const wildcards = new Map<string, VirtualServiceHead>();
  for (const head of heads) {
    for (const host of head.hosts) {
      if (head.hasGatewaySemantics && isWildcard(host)) continue;
      const index = isWildcard(host) ? wildcards : exact;
      if (!index.has(host)) index.set(host, head);
    }
  }
  const owners = new Map<string, VirtualServiceHead>();
  if (wildcards.size === 0) return owners;
  const longestFirst = [...wildcards].sort(([a], [b]) => b.length - a.length);
  for (const hostname of services.keys()) {
    const owner = exact.get(hostname) ?? longestFirst.find(([host]) => hostCovers(host, hostname))?.[1];
    if (owner !== undefined) owners.set(hostname, owner);
  }
  return owners;
}

/** The ports that can carry HTTP, of those the listener serves. */
function httpPorts(service: Service, port: number): readonly number[] {
  const carriesHttp = ({ protocol }: ServicePort) => isHttp(protocol) || isUnsupported(protocol);
  return service.ports
    .filter((one) => (port === 0 || one.number === port) && carriesHttp(one))
    .map(({ number }) => number);
}

/** The listener of that port or socket, else the catch-all; listeners behind a catch-all are never reached. */
function egressListenerFor(view: View, name: string, port: number): EgressListener | undefined {
  return proxyEgressListeners(view).find(({ spec }) => {
    if (spec.port === undefined) return true;
    return spec.port.number === port && (port !== 0 || spec.bind === name);
  });
}

/** The port whose hosts a listener's routes are for; 0 for all of them, as a forward proxy's are. */
function routedPort({ spec }: EgressListener, { port }: ListenerRoute): number {
  return spec.port !== undefined && parseProtocol(spec.port.protocol) === "HTTP_PROXY" ? 0 : port;
}
