/** The names of one service and what they resolve to. */
import { type Endpoint, isClusterSetHost, isIpAddress, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type NameTable_NameInfo, NameTable_NameInfoSchema } from "@flotilla/proto/istio/networking/nds/v1/nds_pb";
import { calledEndpoints } from "../../snapshot/scope/called-endpoints.ts";
import { reachableAddresses } from "../../snapshot/scope/services.ts";
import type { View } from "../../snapshot/view.ts";

/** The host name itself, and for headless services one a pod that has a name of its own. */
export function nameEntries(view: View, service: Service): ReadonlyMap<string, NameTable_NameInfo> {
  const entries = new Map<string, NameTable_NameInfo>();
  const own = ownIps(view, service);
  const endpoints = own.length > 0 || !hasHeadlessNames(view, service) ? [] : headlessEndpoints(view, service);
  // A pod of one name may run in several clusters; those of the proxy's own win.
  const [ownCluster, others] = [endpoints.filter((one) => isInCluster(view, one)), endpoints].map((some) =>
    podEntries(service, some),
  );
  for (const [host, entry] of [...(others ?? []), ...(ownCluster ?? [])]) entries.set(host, entry);
  const ips = own.length > 0 ? own : serviceIps(view, endpoints);
  if (ips.length > 0) entries.set(service.hostname, nameInfo(service, ips, service.name));
  return entries;
}

/** A host of several services is answered with the addresses of all of them, those of the first service first. */
export function joinEntries(
  entries: readonly ReadonlyMap<string, NameTable_NameInfo>[],
): Readonly<Record<string, NameTable_NameInfo>> {
  const joined = new Map<string, NameTable_NameInfo>();
  for (const [host, entry] of entries.flatMap((one) => [...one])) {
    const before = joined.get(host);
    const ips = before === undefined ? entry.ips : [...new Set([...before.ips, ...entry.ips])];
    joined.set(host, create(NameTable_NameInfoSchema, { ...(before ?? entry), ips }));
  }
  return Object.fromEntries(joined);
}

/** Each address of a ServiceEntry is called at a listener of its own, so that its name may mean any of them. */
function ownIps(view: View, service: Service): readonly string[] {
  const several = service.registry === "Kubernetes" ? [] : (service.addresses ?? []).filter(isIpAddress);
  return several.length > 1 ? several : reachableAddresses(view, service);
}

/** A proxy without IPv4 leaves the names of headless services to the cluster's DNS, as in istiod. */
function hasHeadlessNames({ proxy }: View, { registry, resolution }: Service): boolean {
  return registry === "Kubernetes" && resolution === "passthrough" && proxy.ipMode !== "ipv6";
}

/**
 * Ready endpoints that the proxy can reach directly, of all ports: each address once. Those of other clusters have names also where the
 * service is called within each cluster only. Source: istiod asked, scenario locality/cluster-set.
 */
function headlessEndpoints(view: View, service: Service): readonly Endpoint[] {
  const network = view.proxy.network;
  const isReady = ({ health }: Endpoint) =>
    health === "healthy" || health === "unknown" || service.kubernetes?.publishNotReadyAddresses === true;
  const byAddress = new Map<string, Endpoint>();
  for (const endpoint of [...calledEndpoints(view, service).values()].flat()) {
    const [first = ""] = endpoint.addresses;
    const isNear = network === "" || endpoint.network === "" || endpoint.network === network;
    if (isNear && isReady(endpoint) && endpoint.addresses.every(isIpAddress) && first !== "" && !byAddress.has(first))
      byAddress.set(first, endpoint);
  }
  return [...byAddress.values()];
}

function serviceIps(view: View, endpoints: readonly Endpoint[]): readonly string[] {
  const allClusters = view.feature("multiclusterHeadless");
  return endpoints
    .filter((endpoint) => allClusters || isInCluster(view, endpoint))
    .flatMap(({ addresses }) => addresses);
}

function podEntries(service: Service, endpoints: readonly Endpoint[]): ReadonlyMap<string, NameTable_NameInfo> {
  const ips = new Map<string, readonly string[]>();
  for (const { hostname = "", subdomain = "", addresses } of endpoints) {
    if (subdomain === "" || !service.hostname.includes(".")) continue;
    const shortName = `${hostname}.${subdomain}`;
    ips.set(shortName, [...(ips.get(shortName) ?? []), ...addresses]);
  }
  const domain = service.hostname.slice(service.hostname.indexOf("."));
  return new Map([...ips].map(([shortName, all]) => [`${shortName}${domain}`, nameInfo(service, all, shortName)]));
}

function nameInfo(service: Service, ips: readonly string[], shortname: string): NameTable_NameInfo {
  const isOfCluster = service.registry === "Kubernetes" && !isClusterSetHost(service.hostname);
  return create(NameTable_NameInfoSchema, {
    ips: [...ips],
    registry: service.registry,
    ...(isOfCluster && { shortname, namespace: service.namespace }),
  });
}

function isInCluster(view: View, endpoint: Endpoint): boolean {
  const cluster = view.proxy.clusterId;
  return cluster === "" || endpoint.clusterId === "" || endpoint.clusterId === cluster;
}
