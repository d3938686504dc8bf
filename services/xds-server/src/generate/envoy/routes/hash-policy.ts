/** By what a request is hashed, when its destination balances by consistent hashing. */
import { create } from "@flotilla/proto";
import {
  type RouteAction_HashPolicy,
  RouteAction_HashPolicySchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type {
  DestinationRule,
  LoadBalancerSettings_ConsistentHashLB,
  TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

/** The closest of: the subset's port, the subset, the rule's port, the rule. */
export function consistentHashOf(
  rule: DestinationRule,
  subset: string,
  port: number,
): LoadBalancerSettings_ConsistentHashLB | undefined {
  const ofSubset = rule.subsets.find(({ name }) => subset !== "" && name === subset)?.trafficPolicy;
  return (
    portHash(ofSubset, port) ??
    hashOf(ofSubset?.loadBalancer) ??
    portHash(rule.trafficPolicy, port) ??
    hashOf(rule.trafficPolicy?.loadBalancer)
  );
}

function portHash(policy: TrafficPolicy | undefined, port: number): LoadBalancerSettings_ConsistentHashLB | undefined {
  return hashOf(policy?.portLevelSettings.find((settings) => settings.port?.number === port)?.loadBalancer);
}

function hashOf(balancer: TrafficPolicy["loadBalancer"]): LoadBalancerSettings_ConsistentHashLB | undefined {
  return balancer?.lbPolicy.case === "consistentHash" ? balancer.lbPolicy.value : undefined;
}

export function hashPolicy(hash: LoadBalancerSettings_ConsistentHashLB): RouteAction_HashPolicy | undefined {
  const specifier = policySpecifier(hash);
  return specifier === undefined ? undefined : create(RouteAction_HashPolicySchema, { policySpecifier: specifier });
}

function policySpecifier({ hashKey }: LoadBalancerSettings_ConsistentHashLB) {
  switch (hashKey.case) {
    case "httpHeaderName":
      return { case: "header", value: { headerName: hashKey.value } } as const;
    case "httpCookie": {
      const { name, path, ttl, attributes } = hashKey.value;
      const value = {
        name,
        path,
        ...(ttl && { ttl }),
        attributes: attributes.map(({ name, value }) => ({ name, value })),
      };
      return { case: "cookie", value } as const;
    }
    case "useSourceIp":
      return { case: "connectionProperties", value: { sourceIp: hashKey.value } } as const;
    case "httpQueryParameterName":
      return { case: "queryParameter", value: { name: hashKey.value } } as const;
    default:
      return undefined;
  }
}
