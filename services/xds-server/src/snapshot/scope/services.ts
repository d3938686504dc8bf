/**
 * The services of the mesh, which of them a namespace may see, and by which names and addresses they are reached. A service of several
 * clusters is one here; two ServiceEntries of one host are two, because istiod decides between them by age.
 */
import { compareText, isIpAddress, isIpv6, ownValue, resolveShortName, type Service } from "@flotilla/model";
import { visibilityOf } from "../ambient/visibility.ts";
import { type ServiceText, serviceText } from "../row-index.ts";
import type { ServiceTarget } from "../subject.ts";
import { query, type View } from "../view.ts";

/** The services that one name of a namespace stands for: services of one registry merged over clusters. */
export const servicesOfName = query<readonly Service[], ServiceText>("services-of-name", (view, text) => {
  const shards = [...view.serviceShards(serviceText.read(text)).values()];
  const kubernetes = shards.filter(({ registry }) => registry === "Kubernetes");
  const consul = shards.filter(({ registry }) => registry === "Consul");
  const others = shards.filter(({ registry }) => registry !== "Kubernetes" && registry !== "Consul");
  return [...merged(kubernetes, mergeClusters), ...merged(consul, mergeDatacenters), ...others];
});

/** Every service, oldest first. A catalogue: resources depend on the services that they read by name. */
export const allServices = query<readonly Service[]>(
  "all-services",
  (view) =>
    view.serviceNames
      .flatMap((name) => view.read(servicesOfName, serviceText.write(name)))
      .sort(
        (a, b) =>
          a.creationTimeMs - b.creationTimeMs ||
          compareText(`${nameOf(a)}.${a.namespace}`, `${nameOf(b)}.${b.namespace}`),
      ),
  undefined,
  "catalogue",
);

/** A ServiceEntry has a name for all of its hosts; each is a service of its own. */
function nameOf({ registry, name, hostname }: Service): string {
  return registry === "External" ? hostname : name;
}

/** The services a namespace may see: its own private ones, those exported to it, those of everybody; each oldest first. */
export const servicesExportedTo = query<readonly Service[], string>("services-exported-to", (view, namespace) => {
  const [own, exported, everyone]: [Service[], Service[], Service[]] = [[], [], []];
  for (const service of view.read(allServices)) {
    const reach = reachOf(exportedTo(view, service), service.namespace, namespace);
    if (reach === "everyone") everyone.push(service);
    else if (reach === "own") own.push(service);
    else if (reach === "named") exported.push(service);
  }
  return [...own, ...exported, ...everyone];
});

/** The one service that a host name means in a namespace; of several the oldest, but Kubernetes before all others. */
export function serviceIn(view: View, namespace: string, hostname: string): Service | undefined {
  const found = view.read(servicesOfName, serviceText.write({ namespace, hostname }));
  return found[0]?.registry === "Kubernetes" ? found[0] : oldest(found);
}

/** How `namespace` comes to see an object of namespace `home`, if it does. Nothing listed means everyone. */
export function reachOf(
  exportTo: readonly string[],
  home: string,
  namespace: string,
): "everyone" | "own" | "named" | "hidden" {
  if (exportTo.length === 0 || exportTo.includes("*")) return "everyone";
  if (exportTo.includes("~")) return "hidden";
  if (home === namespace) return exportTo.some((to) => to === "." || to === home) ? "own" : "hidden";
  return exportTo.includes(namespace) ? "named" : "hidden";
}

export function isServiceVisible(view: View, service: Service, namespace: string): boolean {
  return reachOf(exportedTo(view, service), service.namespace, namespace) !== "hidden";
}

/** Of ServiceEntries no more than the mesh allows (`serviceEntryVisibility`), where that holds for sidecars and gateways too. */
function exportedTo(view: View, service: Service): readonly string[] {
  const stated = service.exportTo.length > 0 ? service.exportTo : view.mesh.defaultServiceExportTo;
  if (view.mesh.serviceEntryVisibility?.applyToSidecars !== true) return stated;
  const visibility = visibilityOf(view, service);
  if (visibility === "public") return stated;
  const reachesOwn = ["everyone", "own"].includes(reachOf(stated, service.namespace, service.namespace));
  return visibility === "namespace" && reachesOwn ? ["."] : ["~"];
}

function oldest(services: readonly Service[]): Service | undefined {
  return services.reduce<Service | undefined>(
    (best, service) => (best === undefined || service.creationTimeMs < best.creationTimeMs ? service : best),
    undefined,
  );
}

function merged(services: readonly Service[], merge: (a: Service, b: Service) => Service): readonly Service[] {
  const [first, ...more] = services;
  return first === undefined ? [] : [more.reduce(merge, first)];
}

/** Instances of each datacenter have ports of their own; for a port of several the first one's name holds. */
function mergeDatacenters(first: Service, other: Service): Service {
  const known = new Set(first.ports.map(({ number }) => number));
  return { ...first, ports: [...first.ports, ...other.ports.filter(({ number }) => !known.has(number))] };
}

/** The first cluster's definition holds; addresses and identities come from all. */
function mergeClusters(first: Service, other: Service): Service {
  return {
    ...first,
    clusterVips: { ...other.clusterVips, ...first.clusterVips },
    serviceAccounts: [...new Set([...first.serviceAccounts, ...other.serviceAccounts])],
    ...((first.clusterExternalAddresses ?? other.clusterExternalAddresses) && {
      clusterExternalAddresses: { ...other.clusterExternalAddresses, ...first.clusterExternalAddresses },
    }),
    ...((first.clusterExternalPorts ?? other.clusterExternalPorts) && {
      clusterExternalPorts: { ...other.clusterExternalPorts, ...first.clusterExternalPorts },
    }),
  };
}

/** Of the services that have one host and a port of this name, a Service of Kubernetes is the workload's before ServiceEntries are. */
export function targetService(
  view: View,
  { namespace, hostname, port, portName }: Omit<ServiceTarget, "targetPort">,
): Service | undefined {
  const all = [...view.serviceShards({ namespace, hostname }).values()];
  const ordered = [...all.filter(isOfKubernetes), ...all.filter((service) => !isOfKubernetes(service))];
  return (
    ordered.find(({ ports }) => ports.some(({ number, name }) => number === port && name === portName)) ?? ordered[0]
  );
}

function isOfKubernetes({ registry }: Service): boolean {
  return registry === "Kubernetes";
}

/**
 * Other names of services: ExternalName services, also of one another. Callers that may call a service may call it by any of them, wherever
 * they are visible themselves; so istiod does it.
 */
const aliases = query<ReadonlyMap<string, readonly Service[]>>("aliases", (view) => {
  const found = view.read(allServices).filter(isAlias);
  const targets = new Map(found.map(({ hostname, kubernetes }) => [hostname, kubernetes?.externalName ?? ""]));
  return Map.groupBy(found.sort(byNamespace), ({ hostname }) => lastOf(targets, hostname));
});

function isAlias({ resolution }: Service): boolean {
  return resolution === "alias";
}

/** Reads each service by name, which makes it an input of the reader. */
const aliasesOfHost = query<readonly string[], string>("aliases-of-host", (view, hostname) => {
  const found = view.read(aliases).get(hostname) ?? [];
  return found.flatMap((service) =>
    view.read(servicesOfName, serviceText.write(service)).some(isAlias) ? [service.hostname] : [],
  );
});

/** By namespace and name. */
export function aliasesOf(view: View, hostname: string): readonly string[] {
  return view.read(aliasesOfHost, hostname);
}

/** The end of a chain of names; names in a circle stand for nothing. */
function lastOf(targets: ReadonlyMap<string, string>, hostname: string): string {
  const seen = new Set<string>();
  let name = hostname;
  for (let next = targets.get(name); next !== undefined; next = targets.get(name)) {
    if (seen.has(name)) return "";
    seen.add(name);
    name = next;
  }
  return name;
}

function byNamespace(a: Service, b: Service): number {
  return compareText(a.namespace, b.namespace) || compareText(a.hostname, b.hostname);
}

/**
 * Those of the proxy's cluster, else the service's own, else allocated ones if the proxy answers DNS queries.
 * Ranges are left out, and so are addresses of Kubernetes in a family that the proxy does not have. A service whose addresses in the
 * proxy's cluster are all of the other family is called by its address in another cluster.
 */
export function reachableAddresses(view: View, service: Service): readonly string[] {
  const inCluster = usableAddresses(
    view,
    (ownValue(service.clusterVips, view.proxy.clusterId) ?? []).filter(isSpecific),
  );
  if (inCluster.length > 0) return inCluster;
  const own = [service.defaultAddress, ...(service.addresses ?? [])].filter(isSpecific).slice(0, 1);
  const isOfClusters = Object.keys(service.clusterVips).length > 0;
  if (own.length > 0) return isOfClusters ? own.filter((address) => hasFamily(view, address)) : own;
  return usableAddresses(view, allocatedAddresses(view, service));
}

/** The addresses that a service's virtual host has on a listener of its port: of several allocated ones the first. Source: istiod asked. */
export function routedAddresses(view: View, service: Service): readonly string[] {
  const reachable = reachableAddresses(view, service);
  return reachable.some((address) => allocatedAddresses(view, service).includes(address))
    ? reachable.slice(0, 1)
    : reachable;
}

/**
 * Only a proxy that answers DNS itself makes its workload call an allocated address; addresses that are hashed and not kept
 * (PILOT_ENABLE_IP_AUTOALLOCATE=false) it has to ask for.
 */
export function allocatedAddresses(view: View, service: Service): readonly string[] {
  const { proxy } = view;
  if (!proxy.metadataFlag("DNS_CAPTURE")) return [];
  if (!view.feature("ipAutoAllocate") && !proxy.metadataFlag("DNS_AUTO_ALLOCATE")) return [];
  return [service.autoAllocatedIpv4, service.autoAllocatedIpv6].filter((address) => address !== undefined);
}

/**
 * Both families only where the control plane supports dual stack, as it does in the ambient mesh; else those of the first address' family
 * where the proxy has both.
 */
function usableAddresses(view: View, addresses: readonly string[]): readonly string[] {
  if (view.proxy.ipMode !== "dual") return addresses.filter((address) => hasFamily(view, address));
  if (view.feature("dualStack") || view.feature("ambient")) return addresses;
  return addresses.filter((address) => isIpv6(address) === isIpv6(addresses[0] ?? ""));
}

function isSpecific(address: string): boolean {
  return isIpAddress(address) && address !== "0.0.0.0" && address !== "::";
}

export function hasFamily({ proxy: { ipMode } }: View, address: string): boolean {
  return ipMode === "dual" || (ipMode === "ipv6") === isIpv6(address);
}

export interface Names {
  readonly host: (host: string) => string;
  readonly gateway: (gateway: string) => string;
}

/** How short names in an object of a namespace are meant. */
export function completeNames(view: View, namespace: string): Names {
  const domain = view.feature("domainSuffix");
  return {
    host: (host) => resolveShortName(host, namespace, domain),
    gateway: (gateway) => (gateway === "mesh" || gateway.includes("/") ? gateway : gatewayName(gateway, namespace)),
  };
}

/** `name`, or the older form `name.namespace.svc.domain`. */
function gatewayName(gateway: string, namespace: string): string {
  const [name, home] = gateway.split(".");
  return `${home ?? namespace}/${name}`;
}
