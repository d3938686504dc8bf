/** Settings of DestinationRules for TCP connections to a destination, as far as its listener carries them out. */
import type { Service } from "@flotilla/model";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";
import { durationText } from "../envoy/duration.ts";
import { addressText } from "../envoy/endpoints/reached-endpoint.ts";

/** Texts are durations. */
export interface TcpPolicy {
  readonly idleTimeout?: string;
  readonly maxDuration?: string;
  readonly hashSourceIp?: boolean;
  readonly tunnel?: { readonly target: string; readonly usePost: boolean };
}

export interface TcpDestination {
  readonly host: string;
  readonly subset: string;
}

/** Of several destinations the first one's rule counts, without a subset. */
export function tcpPolicy(view: View, { host, subset }: TcpDestination): TcpPolicy {
  return tcpPolicyOf(view, visibleService(view, host), subset);
}

export function tcpPolicyOf(view: View, service: Service | undefined, subset: string): TcpPolicy {
  const rule = service === undefined ? undefined : destinationRuleOf(view, service)?.spec;
  if (rule === undefined) return {};
  const ofSubset = rule.subsets.find(({ name }) => subset !== "" && name === subset)?.trafficPolicy;
  // Times are the rule's own, whatever its subsets state.
  const pool = rule.trafficPolicy?.connectionPool?.tcp;
  // A subset's tunnel is its own alone, its load balancer comes before the rule's.
  const tunnel = (subset === "" ? rule.trafficPolicy : ofSubset)?.tunnel;
  const balancer = (ofSubset?.loadBalancer ?? rule.trafficPolicy?.loadBalancer)?.lbPolicy;
  const hashKey = balancer?.case === "consistentHash" ? balancer.value.hashKey : undefined;
  return {
    ...(pool?.idleTimeout && { idleTimeout: durationText(pool.idleTimeout) }),
    ...(pool?.maxConnectionDuration && { maxDuration: durationText(pool.maxConnectionDuration) }),
    ...(hashKey?.case === "useSourceIp" && hashKey.value && { hashSourceIp: true }),
    ...(tunnel && {
      tunnel: { target: addressText(tunnel.targetHost, tunnel.targetPort), usePost: tunnel.protocol === "POST" },
    }),
  };
}
