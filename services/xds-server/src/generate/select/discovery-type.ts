/** How the endpoints of an outbound cluster are found. */
import type { View } from "../../snapshot/view.ts";
import { isPassthrough } from "../envoy/clusters/load-balancer.ts";
import { type ClusterTarget, isByDns } from "./cluster-target.ts";
import { clusterPolicy, trafficPolicyOf } from "./traffic-policy.ts";

/**
 * True where calls go to the connection's original destination; subsets follow the whole service in this, whatever their own policy states.
 * For callers of a router that destination was the router itself.
 */
export function followsOriginalDestination(view: View, target: ClusterTarget): boolean {
  const { service, port, subset, rule } = target;
  if (isPassthrough(clusterPolicy(view, target)?.loadBalancer)) return true;
  if (subset !== "" && rule !== undefined && isPassthrough(trafficPolicyOf(rule.spec, port.number, "")?.loadBalancer))
    return true;
  if (service.resolution !== "passthrough" || view.proxy.type === "router") return false;
  return !(service.registry === "Kubernetes" && view.feature("edsForHeadlessServices"));
}

/** Its endpoints are names that the proxy resolves: without any there is nothing to resolve, and no cluster. */
export function isResolvedByProxy(view: View, target: ClusterTarget): boolean {
  if (!isByDns(target.service)) return false;
  return target.subset === "" || !followsOriginalDestination(view, target);
}
