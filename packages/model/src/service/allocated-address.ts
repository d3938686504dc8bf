/** Selects the hosts of ServiceEntries that automatic addresses are for. Source: Istio's label reference, istiod asked. */
import type { Labels } from "../config/selector.ts";
import { ownValue } from "../json/own-value.ts";
import { isWildcard } from "../names/host.ts";

/**
 * False where the entry opts out, and for a wildcard, which stands for many hosts. @param isDynamic the proxy that is called resolves each host, so that
 * a wildcard has an address too
 */
export function takesAllocatedAddress(labels: Labels, hostname: string, isDynamic: boolean): boolean {
  const choice = ownValue(labels, "networking.istio.io/enable-autoallocate-ip");
  return choice?.toLowerCase() !== "false" && (isDynamic || !isWildcard(hostname));
}
