/** Under which names and addresses the proxy's workload may call a service. */
import { isIpAddress, isIpv4, isIpv6, type Service } from "@flotilla/model";
import { aliasesOf } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";
import type { ServiceNames } from "./domains.ts";

export function serviceNames(view: View, service: Service): ServiceNames {
  return {
    hostname: service.hostname,
    aliases: view.read(aliasesOf, service.hostname),
    addresses: addressesFor(view, service),
    hasPodNames: service.resolution === "passthrough" && service.registry === "Kubernetes",
  };
}

/** The addresses in the proxy's cluster that it can reach, else allocated ones if it answers DNS, else the default. */
function addressesFor(view: View, service: Service): readonly string[] {
  const { proxy } = view;
  const inCluster = (service.clusterVips[proxy.clusterId] ?? []).filter(isSpecific);
  if (inCluster.length > 0) {
    const isReachable = (address: string) =>
      proxy.ipMode === "dual" || (proxy.ipMode === "ipv4" ? isIpv4(address) : isIpv6(address));
    const several = inCluster.length > 1 && view.flag("ISTIO_DUAL_STACK", false);
    return several ? inCluster.filter(isReachable) : inCluster.slice(0, 1);
  }
  const own = [service.defaultAddress].filter(isSpecific);
  if (own.length > 0) return own;
  const allocated = [service.autoAllocatedIpv4, service.autoAllocatedIpv6].filter((address) => address !== undefined);
  const usesAllocated = allocated.length > 0 && proxy.metadataFlag("DNS_CAPTURE");
  return usesAllocated
    ? allocated.filter((address) => proxy.ipMode === "dual" || isIpv6(address) === (proxy.ipMode === "ipv6"))
    : [];
}

/** Ranges are no domain. */
function isSpecific(address: string): boolean {
  return isIpAddress(address) && address !== "0.0.0.0" && address !== "::";
}
