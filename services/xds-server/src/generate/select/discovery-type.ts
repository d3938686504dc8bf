/** How the endpoints of an outbound cluster are found. */
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import type { View } from "../../snapshot/view.ts";
import { isPassthrough } from "../envoy/clusters/load-balancer.ts";
import { type ClusterTarget, isByDns } from "./cluster-target.ts";
import { clusterPolicy, trafficPolicyOf } from "./traffic-policy.ts";

/**
 * True where calls go to the connection's original destination; subsets follow the whole service in this, whatever their own policy states.
 * For callers of a gateway that destination was the gateway itself.
 */
export function followsOriginalDestination(view: View, target: ClusterTarget): boolean {
  const { service, port, subset, rule } = target;
  if (isPassthrough(clusterPolicy(view, target)?.loadBalancer)) return true;
  if (subset !== "" && rule !== undefined && isPassthrough(trafficPolicyOf(rule.spec, port.number, "")?.loadBalancer))
    return true;
  if (service.resolution !== "passthrough" || isCalledByGateway(view, target)) return false;
  return !(service.registry === "Kubernetes" && view.feature("edsForHeadlessServices"));
}

/** Of an east-west gateway what it leads connections to outside of tunnels. */
export function isCalledByGateway(view: View, { layer }: ClusterTarget): boolean {
  return view.proxy.type === "router" || (layer === undefined && isEastWestGateway(view));
}

/** Its endpoints are names that the proxy resolves: without any there is nothing to resolve, and no cluster. */
export function isResolvedByProxy(view: View, target: ClusterTarget): boolean {
  if (!isByDns(target.service)) return false;
  return target.subset === "" || !followsOriginalDestination(view, target);
}
