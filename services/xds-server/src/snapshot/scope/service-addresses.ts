/** The addresses under which a proxy's workload reaches a service as such, whatever its endpoints. */
import { isIpAddress, isIpv6, ownValue, type Service } from "@flotilla/model";
import type { View } from "../view.ts";

/**
 * Those of the proxy's cluster, else the service's own, else allocated ones if the proxy answers DNS queries.
 * Ranges are left out, and so are addresses of a family the proxy does not have.
 */
export function reachableAddresses(view: View, service: Service): readonly string[] {
  const inCluster = (ownValue(service.clusterVips, view.proxy.clusterId) ?? []).filter(isSpecific);
  if (inCluster.length > 0) return reachableInCluster(view, inCluster);
  const own = [service.defaultAddress, ...(service.addresses ?? [])].filter(isSpecific);
  if (own.length > 0) return own.slice(0, 1);
  return allocatedAddresses(view, service).filter((address) => hasFamily(view, address));
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

/** Both families only where the control plane knows of dual stack; else the first one that the proxy has. */
function reachableInCluster(view: View, addresses: readonly string[]): readonly string[] {
  const found = addresses.filter((address) => hasFamily(view, address));
  return view.feature("dualStack") ? found : found.slice(0, 1);
}

function isSpecific(address: string): boolean {
  return isIpAddress(address) && address !== "0.0.0.0" && address !== "::";
}

export function hasFamily({ proxy: { ipMode } }: View, address: string): boolean {
  return ipMode === "dual" || (ipMode === "ipv6") === isIpv6(address);
}
