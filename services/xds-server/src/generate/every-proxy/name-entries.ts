/** The names of one service and what they resolve to. */
import { type Endpoint, isIpAddress, type Service } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type NameTable_NameInfo, NameTable_NameInfoSchema } from "@flotilla/proto/istio/networking/nds/v1/nds_pb";
import { discoverableEndpoints } from "../../snapshot/scope/discoverable-endpoints.ts";
import { reachableAddresses } from "../../snapshot/scope/service-addresses.ts";
import type { View } from "../../snapshot/view.ts";

/** The host name itself, and for headless services one a pod that has a name of its own. */
export function nameEntries(view: View, service: Service): ReadonlyMap<string, NameTable_NameInfo> {
  const entries = new Map<string, NameTable_NameInfo>();
  const own = reachableAddresses(view, service);
  const isHeadless = service.registry === "Kubernetes" && service.resolution === "passthrough";
  const endpoints = own.length > 0 || !isHeadless ? [] : headlessEndpoints(view, service);
  for (const endpoint of endpoints) addPod(view, service, endpoint, entries);
  const ips = own.length > 0 ? own : serviceIps(view, endpoints);
  if (ips.length > 0) entries.set(service.hostname, nameInfo(service, ips, service.name));
  return entries;
}

/** Ready endpoints of the first port that the proxy can reach directly. */
function headlessEndpoints(view: View, service: Service): readonly Endpoint[] {
  const [port] = service.ports;
  const network = view.proxy.network;
  const isReady = ({ health }: Endpoint) =>
    health === "healthy" ||
    health === "unknown" ||
    (health === "unhealthy" && service.kubernetes?.publishNotReadyAddresses === true);
  return [...discoverableEndpoints(view, service).values()]
    .flat()
    .filter(
      (endpoint) =>
        endpoint.servicePortName === port?.name &&
        isReady(endpoint) &&
        isIpAddress(endpoint.addresses[0] ?? "") &&
        (network === "" || endpoint.network === "" || endpoint.network === network),
    );
}

function serviceIps(view: View, endpoints: readonly Endpoint[]): readonly string[] {
  const allClusters = view.feature("multiclusterHeadless");
  return endpoints
    .filter((endpoint) => allClusters || isInCluster(view, endpoint))
    .map(({ addresses: [first = ""] }) => first);
}

/** A pod of one name may run in several clusters; the proxy's own wins. */
function addPod(view: View, service: Service, endpoint: Endpoint, entries: Map<string, NameTable_NameInfo>): void {
  const { hostname = "", subdomain = "" } = endpoint;
  const dot = service.hostname.indexOf(".");
  if (subdomain === "" || dot < 0) return;
  const shortName = `${hostname}.${subdomain}`;
  const host = `${shortName}${service.hostname.slice(dot)}`;
  if (entries.has(host) && !isInCluster(view, endpoint)) return;
  entries.set(host, nameInfo(service, endpoint.addresses, shortName));
}

function nameInfo(service: Service, ips: readonly string[], shortname: string): NameTable_NameInfo {
  const isOfCluster = service.registry === "Kubernetes" && !service.hostname.endsWith(".clusterset.local");
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
