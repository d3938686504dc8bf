/** The addresses under which a proxy's workload calls a TCP service. */
import { isIpAddress, ownValue, type Service, type ServicePort } from "@flotilla/model";
import { calledEndpoints } from "../../snapshot/scope/called-endpoints.ts";
import { allocatedAddresses, hasFamily, reachableAddresses } from "../../snapshot/scope/services.ts";
import type { View } from "../../snapshot/view.ts";
import { listenerTraits } from "./listener-traits.ts";

export function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** The service's own addresses; without one, those of its endpoints if callers see them, else the wildcard. */
export function serviceAddresses(view: View, service: Service, port: ServicePort): readonly string[] {
  return podAddresses(view, service, port) ?? ownAddresses(view, service);
}

/** The service's own addresses, else the wildcard: of the proxy's family where it is known. */
export function ownAddresses(view: View, service: Service): readonly string[] {
  // Each address of a ServiceEntry is a service of its own to callers.
  const { addresses: several = [] } = service;
  if (several.length > 1 && ownValue(service.clusterVips, view.proxy.clusterId) === undefined) return several;
  const address = serviceAddress(view, service);
  const isHeadless = service.registry === "Kubernetes" && service.resolution === "passthrough";
  return [isUnspecified(address) && !isHeadless ? view.read(listenerTraits).wildcardAddress : address];
}

/** The addresses of endpoints that callers see, where a service has no address of its own; undefined for other services. */
export function podAddresses(view: View, service: Service, port: ServicePort): readonly string[] | undefined {
  if (service.resolution !== "passthrough" || !isUnspecified(serviceAddress(view, service))) return undefined;
  if ((service.addresses ?? []).length > 1) return undefined;
  const [own] = view.proxy.addresses;
  const endpoints = [...calledEndpoints(view, service).values()]
    .flat()
    .filter((endpoint) => endpoint.servicePortName === port.name);
  const mayHaveEndpoints = service.registry === "Kubernetes" || service.labelSelectors !== undefined;
  if (endpoints.length === 0 && !mayHaveEndpoints) return undefined;
  const addresses = endpoints
    .filter((one) => one.addresses.every(isIpAddress))
    .flatMap(({ addresses: [first] }) => first ?? []);
  // A workload that calls its own first address does not pass this listener. Source: istiod asked, a proxy of both families.
  return [...new Set(addresses)].filter((one) => one !== own);
}

/** The service's other addresses in the proxy's cluster, or those that were allocated to it, which share the listener of the first. */
export function furtherAddresses(view: View, service: Service, bind: string): readonly string[] {
  if (view.proxy.ipMode !== "dual") return [];
  if (bind === "0.0.0.0") return ["::"];
  if (view.read(listenerTraits).extraAddresses.length === 0) return [];
  const inCluster = ownValue(service.clusterVips, view.proxy.clusterId) ?? [];
  const all = inCluster.length > 0 ? inCluster : allocatedAddresses(view, service);
  return all[0] === bind ? all.slice(1) : [];
}

/** The addresses of a service behind its first, as far as the proxy can reach them. */
export function extraAddresses(view: View, service: Service): readonly string[] {
  return reachableAddresses(view, service).slice(1);
}

/** The address in the proxy's cluster that is of a family of the proxy, an allocated one, or the default. */
export function serviceAddress(view: View, service: Service): string {
  const all = ownValue(service.clusterVips, view.proxy.clusterId) ?? [];
  const inCluster = all.find((address) => hasFamily(view, address));
  if (inCluster !== undefined && !isUnspecified(inCluster)) return inCluster;
  if (!isUnspecified(service.defaultAddress)) return service.defaultAddress;
  return allocatedAddresses(view, service).find((address) => hasFamily(view, address)) ?? service.defaultAddress;
}
