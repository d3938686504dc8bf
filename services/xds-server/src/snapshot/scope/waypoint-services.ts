/** The services and workloads behind a waypoint, whatever their visibility, and the services it calls besides. */
import { isCalledDirectly } from "@flotilla/ambient";
import { compareText, hostCovers, ownValue, type Service } from "@flotilla/model";
import { isGlobal } from "../ambient/service-clusters.ts";
import { ambientService } from "../ambient/services.ts";
import { servicesOfWaypoint, waypointText, workloadsOfWaypoint } from "../ambient/waypoints.ts";
import { isCalledItself } from "../ambient/workloads.ts";
import { serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { tokenRules } from "./authn.ts";
import { eastWestServices, isEastWestGateway } from "./east-west.ts";
import { gatewayNameLabel } from "./policy-targets.ts";
import { providerServices, referencedServices } from "./routed-services.ts";
import { hasFamily, serviceIn } from "./services.ts";
import { proxyEgressListeners } from "./sidecar.ts";
import { visibleServices } from "./sidecar-scope.ts";
import {
  listenerHeads,
  meshVirtualServicesByHost,
  type VirtualServiceHead,
  virtualServiceDestinations,
} from "./virtual-services.ts";

/** Of the waypoint or the east-west gateway that the proxy is a pod of, oldest first: hosts that are resolved as requests come only outside of the mesh. */
export const waypointServices = query<readonly Service[]>("waypoint-services", (view) =>
  boundServices(view).filter(({ resolution, meshExternal }) => resolution !== "dynamic-dns" || meshExternal),
);

function boundServices(view: View): readonly Service[] {
  if (isEastWestGateway(view)) return view.read(eastWestServices);
  const name = view.proxy.label(gatewayNameLabel);
  if (name === undefined || !view.feature("ambient")) return [];
  return view
    .read(servicesOfWaypoint, waypointText.write({ namespace: view.proxy.namespace, name }))
    .flatMap(({ namespace, hostname }) => serviceIn(view, namespace, hostname) ?? [])
    .sort(
      (a, b) =>
        a.creationTimeMs - b.creationTimeMs ||
        compareText(nameOf(a), nameOf(b)) ||
        compareText(a.namespace, b.namespace),
    );
}

/** A ServiceEntry has a name for all of its hosts; each is a service of its own. */
function nameOf({ registry, name, hostname }: Service): string {
  return registry === "External" ? hostname : name;
}

const servicesByHost = query<ReadonlyMap<string, Service>>(
  "waypoint-services-by-host",
  (view) => new Map(view.read(waypointServices).map((service) => [service.hostname, service])),
);

const serviceOfHost = query<Service | undefined, string>("waypoint-service-of-host", (view, hostname) =>
  view.read(servicesByHost).get(hostname),
);

export function waypointService(view: View, hostname: string): Service | undefined {
  return view.read(serviceOfHost, hostname);
}

/**
 * The VirtualServices of a service behind the waypoint that are meant for callers in the mesh, in order of precedence: of the service's
 * own namespace and the waypoint's. Those of other namespaces are for callers there. Source: istiod asked.
 */
export const waypointVirtualServices = query<readonly VirtualServiceHead[], string>(
  "waypoint-virtual-services",
  (view, hostname) => {
    const homes = new Set([view.proxy.namespace, waypointService(view, hostname)?.namespace]);
    return proxyEgressListeners(view)
      .flatMap(({ name }) => view.read(listenerHeads, name))
      .filter((head) => homes.has(head.namespace) && speaksFor(head, hostname));
  },
);

/** Of routes of the Gateway API only hosts count that a service has by the same name. */
function speaksFor({ hosts, hasGatewaySemantics }: VirtualServiceHead, hostname: string): boolean {
  return hosts.some((host) => (hasGatewaySemantics ? host === hostname : hostCovers(host, hostname)));
}

/**
 * Services that a waypoint calls directly: where its routes lead apart from its own services, providers, and issuers of tokens. As in istiod, also
 * those where VirtualServices of other namespaces lead that name a service behind it, though it does not follow them.
 */
export const waypointDestinations = query<readonly Service[]>("waypoint-destinations", (view) => {
  const own = view.read(waypointServices);
  const named = view.read(meshVirtualServicesByHost);
  const routed = own.flatMap(({ hostname }) => {
    const followed = view.read(waypointVirtualServices, hostname).map(({ name }) => name);
    return [...followed, ...(named.get(hostname) ?? [])].flatMap((name) =>
      view.read(virtualServiceDestinations, name).map(({ host }) => host),
    );
  });
  const hosts = new Set([
    // Of services outside of the mesh istiod sends both clusters.
    ...routed.filter((host) => waypointService(view, host)?.meshExternal !== false),
    ...view.read(providerServices),
    ...view.read(referencedServices),
    ...view.read(tokenRules, "").flatMap(({ rule }) => URL.parse(rule.jwksUri)?.hostname ?? []),
  ]);
  return visibleServices(view).filter(
    ({ namespace, hostname }) => hosts.has(hostname) || hosts.has(`${namespace}/${hostname}`),
  );
});

/**
 * The addresses of workloads that the waypoint stands before without a service, where it is for workloads: of the oldest first, then by uid.
 * Source: istiod asked.
 */
export const waypointWorkloadAddresses = query<readonly string[]>("waypoint-workload-addresses", (view) => {
  const name = view.proxy.label(gatewayNameLabel);
  if (name === undefined || !view.feature("ambient") || isEastWestGateway(view)) return [];
  const uids = view.read(workloadsOfWaypoint, waypointText.write({ namespace: view.proxy.namespace, name }));
  return uids
    .flatMap((uid) => {
      const workload = view.workload(uid);
      if (workload === undefined || !isCalledItself(view, workload) || isCalledDirectly(workload.labels)) return [];
      const { creationTimeMs = 0, addresses } = workload;
      return [{ uid, creationTimeMs, addresses }];
    })
    .sort((a, b) => a.creationTimeMs - b.creationTimeMs || compareText(a.uid, b.uid))
    .flatMap(({ addresses }) => addresses);
});

const none = "0.0.0.0";

/** Addresses of a global service in all clusters of the waypoint's network: ztunnels call it by any of them. Source: istiod asked. */
export function globalVipsOf(view: View, service: Service): readonly string[] {
  const name = serviceText.write(service);
  if (!view.feature("ambientMultiNetwork") || !isGlobal(view, service)) return [];
  const { network } = view.proxy;
  return (view.read(ambientService, name)?.addresses ?? [])
    .filter((range) => network === "" || range.network === network)
    .map(({ address }) => address)
    .filter((address) => hasFamily(view, address));
}

/**
 * Addresses by which a service is called through a waypoint, for all callers: of the proxy's cluster in its own families, else the service's own
 * or allocated one.
 */
export function vipsOf(view: View, service: Service): readonly string[] {
  const inCluster = (ownValue(service.clusterVips, view.proxy.clusterId) ?? []).filter(isSpecific);
  const called = inCluster.filter((address) => hasFamily(view, address));
  if (called.length > 0) return called;
  const [own] = [...inCluster, service.defaultAddress, ...(service.addresses ?? [])].filter(isSpecific);
  if (own === undefined && !view.feature("ipAutoAllocate")) return [];
  if (own === undefined)
    return [service.autoAllocatedIpv4, service.autoAllocatedIpv6]
      .filter((address) => address !== undefined)
      .filter((address) => hasFamily(view, address));
  return [own];
}

function isSpecific(address: string): boolean {
  return address !== "" && address !== none && address !== "::";
}
