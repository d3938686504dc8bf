/**
 * Services that a proxy may call. Each egress listener imports services; all together, and the services that the imported VirtualServices
 * send traffic to, are what clusters are made of.
 */
import { equalJson, hostCovers, type Service, type TextOf, textCodec } from "@flotilla/model";
import { type ServiceText, serviceText } from "../row-index.ts";
import { query, type View, type ViewQuery } from "../view.ts";
import { aliasesOf, allServices, isServiceVisible, serviceIn, servicesExportedTo, servicesOfName } from "./services.ts";
import {
  egressListeners,
  excludes,
  type ListenerName,
  listenerHosts,
  listenerOf,
  listenerPort,
  type ScopeName,
  scopeName,
} from "./sidecar.ts";
import { listenerHeads, virtualServiceDestinations } from "./virtual-services.ts";

/** The services one egress listener imports; a listener with a port imports that port of them. */
export const listenerServices = query<readonly Service[], ListenerName>("listener-services", (view, listener) => {
  const { namespace, isOfRouter, spec } = listenerOf(view, listener);
  if (spec === undefined) return [];
  const hosts = listenerHosts(spec, namespace);
  const port = listenerPort(spec);
  const imported = view.read(servicesExportedTo, namespace).flatMap((service) => {
    const { namespace: home, hostname } = service;
    const isNamed = hosts.importedFrom(home).some((host) => hostCovers(host, hostname));
    // A host by its exact name is one service, by a wildcard all ServiceEntries that have it. Source: istiod asked.
    const isImported =
      isNamed && !hosts.isExcluded(home, hostname) && (!hosts.isExact || serviceIn(view, home, hostname) === service);
    const part = isImported ? withPorts(view, service, port === undefined ? [] : [port]) : undefined;
    return part === undefined ? [] : [part];
  });
  // A router serves callers of any namespace: its own comes before others for sidecars only.
  const homes = chooseNamespaces(imported, isOfRouter ? undefined : namespace);
  return imported.filter((service) => homes.get(service.hostname)?.namespace === service.namespace);
});

/** The other names of a service, as far as the listener imports them by the hosts that it imports the service by. */
export function importedAliases(
  view: View,
  listener: ListenerName,
  { namespace: home, hostname }: Service,
): readonly string[] {
  const all = aliasesOf(view, hostname);
  const { namespace, spec } = listenerOf(view, listener);
  if (all.length === 0 || spec === undefined) return all;
  const hosts = listenerHosts(spec, namespace).importedBeside(home, hostname);
  return all.filter((alias) => hosts.some((host) => hostCovers(host, alias)));
}

/** Every service in scope, one a host name, with the ports that some listener imports. */
const scopeServices = query<readonly Service[], ScopeName>("scope-services", (view, scope) => {
  const services = new Map<string, Service>();
  for (const { name } of egressListeners(view, scope)) {
    for (const service of view.read(listenerServices, name)) addService(services, service);
    for (const service of view.read(routedServices, name)) addService(services, service);
  }
  return [...services.values()];
});

/** The services that listeners import themselves, each once; several ServiceEntries may have one host. */
export const allImportedServices = query<readonly Service[], ScopeName>("all-imported-services", (view, scope) => [
  ...new Set(egressListeners(view, scope).flatMap(({ name }) => view.read(listenerServices, name))),
]);

/** The services that listeners import themselves, one a host name: names of others are not answered. */
const importedServices = query<readonly Service[], ScopeName>("imported-services", (view, scope) => {
  const services = new Map<string, Service>();
  for (const service of view.read(allImportedServices, scope)) addService(services, service);
  return [...services.values()];
});

/** The service that a host name means, if a listener of the proxy imports it itself. */
export const importedService = oneOf("imported-services", importedServices);

/** The services that the proxy may call, one a host name. */
export function visibleServices(view: View): readonly Service[] {
  return view.read(scopeServices, view.read(scopeName));
}

/** The service in scope that a host name means. */
export const visibleService = oneOf("scope-services", scopeServices);

/** A host name in a scope. */
const scopedHost = textCodec<"ScopedHost", { readonly scope: ScopeName; readonly hostname: string }>(
  "ScopedHost",
  "\n",
  ["scope", "hostname"],
);

function oneOf(title: string, services: ViewQuery<ScopeName, readonly Service[]>) {
  const byHost = query<ReadonlyMap<string, Service>, ScopeName>(`${title}-by-host`, (view, scope) => {
    return new Map(view.read(services, scope).map((service) => [service.hostname, service]));
  });
  const ofHost = query<Service | undefined, TextOf<typeof scopedHost>>(`${title}-of-host`, (view, text) => {
    const { scope, hostname } = scopedHost.read(text);
    const found = view.read(byHost, scope).get(hostname);
    // The service selected from all services in scope is read by name, so that resources have it alone as input.
    if (found !== undefined) view.read(servicesOfName, serviceText.write(found));
    return found;
  });
  return (view: View, hostname: string): Service | undefined =>
    view.read(ofHost, scopedHost.write({ scope: view.read(scopeName), hostname }));
}

/**
 * Services that no listener imports but that an imported VirtualService sends traffic to. A listener that imports
 * everything can miss only what its own namespace hides from itself.
 */
const routedServices = query<readonly Service[], ListenerName>("routed-services", (view, listener) => {
  const { namespace, isOfRouter, spec } = listenerOf(view, listener);
  if (spec === undefined) return [];
  const missesHidden = !isOfRouter && view.read(hidesServices, namespace);
  const importsEverything = spec.port === undefined && spec.hosts.includes("*/*") && !spec.hosts.some(excludes);
  if (importsEverything && !missesHidden) return [];
  const listenPort = listenerPort(spec);
  const ports = new Map<string, Set<number>>();
  for (const { name } of view.read(listenerHeads, listener)) {
    for (const { host, port, namespaces } of view.read(virtualServiceDestinations, name)) {
      if (namespaces.length > 0 && !namespaces.includes(namespace)) continue;
      ports.set(host, (ports.get(host) ?? new Set()).add(port ?? 0));
    }
  }
  return [...ports].flatMap(([hostname, wanted]) => {
    const service = serviceMeant(view, hostname, namespace);
    if (service === undefined) return [];
    // 0 stands for a destination without a port: it may mean any.
    const numbers = listenPort !== undefined ? [listenPort] : wanted.has(0) ? [] : [...wanted];
    return withPorts(view, service, numbers) ?? [];
  });
});

/** True where a namespace has services that are not exported to itself. */
const hidesServices = query<boolean, string>("hides-services", (view, namespace) =>
  view
    .read(allServices)
    .some((service) => service.namespace === namespace && !isServiceVisible(view, service, namespace)),
);

/** The own namespace's service, else of those that are visible a Kubernetes service or the oldest. */
function serviceMeant(view: View, hostname: string, namespace: string): Service | undefined {
  const own = serviceIn(view, namespace, hostname);
  if (own !== undefined) return own;
  const visible = view
    .servicesByHost(hostname)
    .flatMap((name) => serviceIn(view, name.namespace, hostname) ?? [])
    .filter((service) => isServiceVisible(view, service, namespace));
  const [first] = visible;
  if (first === undefined || !view.feature("pickBestServiceNamespace")) return first;
  return visible.reduce((best, service) => (isPreferred(service, best) ? service : best), first);
}

function isPreferred(service: Service, best: Service): boolean {
  const [isKubernetes, isBestKubernetes] = [service, best].map(({ registry }) => registry === "Kubernetes");
  return isKubernetes === isBestKubernetes
    ? isKubernetes === false && service.creationTimeMs < best.creationTimeMs
    : isKubernetes === true;
}

/** One namespace a host name: the first, unless the one that is preferred or a Kubernetes service comes later. */
function chooseNamespaces(services: readonly Service[], preferred: string | undefined): ReadonlyMap<string, Service> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const before = chosen.get(service.hostname);
    const isBetter =
      before === undefined ||
      service.namespace === preferred ||
      (before.namespace !== preferred && before.registry !== "Kubernetes" && service.registry === "Kubernetes");
    if (isBetter) chosen.set(service.hostname, service);
  }
  return chosen;
}

/**
 * Joins the ports of ServiceEntries of one host where they differ in ports, addresses and endpoints alone, else the first counts; a
 * Kubernetes service takes the name for itself. Source: scenario serviceentry/joined-ports.
 */
function addService(services: Map<string, Service>, service: Service): void {
  const before = services.get(service.hostname);
  if (before === undefined || (before.registry !== "Kubernetes" && service.registry === "Kubernetes")) {
    services.set(service.hostname, service);
    return;
  }
  if (before === service || !mayBeJoined(before, service)) return;
  const known = new Set(before.ports.map(({ number }) => number));
  const more = service.ports.filter(({ number }) => !known.has(number));
  if (more.length > 0) services.set(service.hostname, { ...before, ports: [...before.ports, ...more] });
}

function mayBeJoined(a: Service, b: Service): boolean {
  const isOfOneKind = a.namespace === b.namespace && a.registry === b.registry && a.resolution === b.resolution;
  return (
    isOfOneKind &&
    equalJson(a.labels, b.labels) &&
    equalJson(a.labelSelectors ?? {}, b.labelSelectors ?? {}) &&
    new Set(a.exportTo).symmetricDifference(new Set(b.exportTo)).size === 0
  );
}

/** The service with the wanted ports only (none wanted: all); nothing when it has none of them. */
function withPorts(view: View, service: Service, wanted: readonly number[]): Service | undefined {
  if (wanted.length === 0) return service;
  const ports = service.ports.map(({ number }) => number).filter((number) => wanted.includes(number));
  if (ports.length === service.ports.length) return service;
  if (ports.length === 0) return undefined;
  const { registry, name } = service;
  return view.read(
    servicePart,
    partText.write({ service: serviceText.write(service), registry, name, ports: ports.join() }),
  );
}

const partText = textCodec<
  "ServicePart",
  Record<"registry" | "name" | "ports", string> & { readonly service: ServiceText }
>("ServicePart", " ", ["service", "registry", "name", "ports"]);

/** Memoised, so that the part of an unchanged service is the identical object. */
const servicePart = query<Service | undefined, TextOf<typeof partText>>("service-part", (view, text) => {
  const { service, registry, name, ports } = partText.read(text);
  const found = view.read(servicesOfName, service).find((one) => one.registry === registry && one.name === name);
  if (found === undefined) return undefined;
  const wanted = new Set(ports.split(",").map(Number));
  return { ...found, ports: found.ports.filter(({ number }) => wanted.has(number)) };
});
