/** The traffic policy of one cluster: the rule's, its port's and its subset's, the narrower over the wider. */
import { create } from "@flotilla/proto";
import {
  type DestinationRule,
  type TrafficPolicy,
  TrafficPolicySchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

export function trafficPolicyOf(rule: DestinationRule, port: number, subset: string): TrafficPolicy | undefined {
  const own = rule.subsets.find(({ name }) => name === subset)?.trafficPolicy;
  const levels = [rule.trafficPolicy, portPolicy(rule.trafficPolicy, port), own, portPolicy(own, port)].filter(
    (level) => level !== undefined,
  );
  if (levels.length === 0) return undefined;
  const merged = create(TrafficPolicySchema, {});
  for (const level of levels) overlay(merged, level);
  return merged;
}

/** Settings for a port replace all of the rule's for that port: what they do not name is Envoy's default. */
function portPolicy(policy: TrafficPolicy | undefined, port: number): TrafficPolicy | undefined {
  const settings = policy?.portLevelSettings.find((one) => one.port?.number === port);
  if (policy === undefined || settings === undefined) return undefined;
  const { connectionPool, loadBalancer, outlierDetection, tls } = settings;
  return create(TrafficPolicySchema, {
    ...(connectionPool && { connectionPool }),
    ...(loadBalancer && { loadBalancer }),
    ...(outlierDetection && { outlierDetection }),
    ...(tls && { tls }),
  });
}

function overlay(
  target: TrafficPolicy,
  { connectionPool, loadBalancer, outlierDetection, tls, proxyProtocol, tunnel, retryBudget }: TrafficPolicy,
): void {
  if (connectionPool !== undefined) target.connectionPool = connectionPool;
  if (loadBalancer !== undefined) target.loadBalancer = loadBalancer;
  if (outlierDetection !== undefined) target.outlierDetection = outlierDetection;
  if (tls !== undefined) target.tls = tls;
  if (proxyProtocol !== undefined) target.proxyProtocol = proxyProtocol;
  if (retryBudget !== undefined) target.retryBudget = retryBudget;
  if (tunnel !== undefined) target.tunnel = tunnel;
}
