/**
 * The services of the mesh, and which of them a namespace may see. A service of several clusters is one
 * here; two ServiceEntries of one host are two, because istiod decides between them by age.
 */
import { compareText, type Service } from "@flotilla/model";
import { type ServiceText, serviceText } from "../keys.ts";
import type { ServiceTarget } from "../subject.ts";
import { query, type View } from "../view.ts";

/** What one name of a namespace stands for: services of one registry merged over clusters. */
export const servicesOfName = query<readonly Service[], ServiceText>("services-of-name", (view, text) => {
  const shards = [...view.serviceShards(serviceText.read(text)).values()];
  const kubernetes = shards.filter(({ registry }) => registry === "Kubernetes");
  const consul = shards.filter(({ registry }) => registry === "Consul");
  const others = shards.filter(({ registry }) => registry !== "Kubernetes" && registry !== "Consul");
  return [...merged(kubernetes, mergeClusters), ...merged(consul, mergeDatacenters), ...others];
});

/** Every service, oldest first. */
export const allServices = query<readonly Service[]>("all-services", (view) =>
  view.serviceNames
    .flatMap((name) => view.read(servicesOfName, serviceText.write(name)))
    .sort(
      (a, b) =>
        a.creationTimeMs - b.creationTimeMs ||
        compareText(`${nameOf(a)}.${a.namespace}`, `${nameOf(b)}.${b.namespace}`),
    ),
);

/** A ServiceEntry has a name for all of its hosts; each is a service of its own. */
function nameOf({ registry, name, hostname }: Service): string {
  return registry === "External" ? hostname : name;
}

/** The services a namespace may see: its own private ones, those exported to it, those of everybody; each oldest first. */
export const servicesExportedTo = query<readonly Service[], string>("services-exported-to", (view, namespace) => {
  const defaults = view.mesh.defaultServiceExportTo;
  const [own, exported, everyone]: [Service[], Service[], Service[]] = [[], [], []];
  for (const service of view.read(allServices)) {
    const reach = reachOf(service.exportTo.length > 0 ? service.exportTo : defaults, service.namespace, namespace);
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
  const exportTo = service.exportTo.length > 0 ? service.exportTo : view.mesh.defaultServiceExportTo;
  return reachOf(exportTo, service.namespace, namespace) !== "hidden";
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
