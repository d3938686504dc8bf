/** The traffic policy of one cluster: the rule's, its port's and its subset's, the narrower over the wider. */
import { create } from "@flotilla/proto";
import type { MeshConfig_DefaultTrafficPolicy as DefaultPolicy } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type ConnectionPoolSettings,
  type DestinationRule,
  type TrafficPolicy,
  TrafficPolicySchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { query, type View } from "../../snapshot/view.ts";
import type { ClusterTarget } from "./cluster-target.ts";

/**
 * The policy that holds for a target: its rule's, completed by the mesh's, as in istiod not within waypoints. The identical one as long as the
 * rule is.
 */
export function clusterPolicy(view: View, target: ClusterTarget): TrafficPolicy | undefined {
  if (target.rule !== undefined) return view.read(policyOfTarget, target);
  return target.layer === undefined ? view.read(meshPolicy) : undefined;
}

const policyOfTarget = query<TrafficPolicy | undefined, ClusterTarget>(
  "traffic-policy",
  (view, { rule, port, subset, layer }) =>
    withDefaults(
      layer === undefined ? view.mesh.defaultTrafficPolicy : undefined,
      rule && trafficPolicyOf(rule.spec, port.number, subset),
    ),
);

const meshPolicy = query<TrafficPolicy | undefined>("mesh-traffic-policy", (view) =>
  withDefaults(view.mesh.defaultTrafficPolicy, undefined),
);

/** The limits of connections that no rule covers. */
export function meshPool({ mesh }: View): ConnectionPoolSettings | undefined {
  return mesh.defaultTrafficPolicy?.connectionPool;
}

/** `defaultTrafficPolicy` of MeshConfig stands in for the fields that a policy lacks. */
export function withDefaults(
  defaults: DefaultPolicy | undefined,
  policy: TrafficPolicy | undefined,
): TrafficPolicy | undefined {
  const connectionPool = policy?.connectionPool ?? defaults?.connectionPool;
  const outlierDetection = policy?.outlierDetection ?? defaults?.outlierDetection;
  if (connectionPool === policy?.connectionPool && outlierDetection === policy?.outlierDetection) return policy;
  return create(TrafficPolicySchema, {
    ...(policy ?? create(TrafficPolicySchema)),
    ...(connectionPool && { connectionPool }),
    ...(outlierDetection && { outlierDetection }),
  });
}

export function trafficPolicyOf(rule: DestinationRule, port: number, subset: string): TrafficPolicy | undefined {
  const own = subset === "" ? undefined : rule.subsets.find(({ name }) => name === subset)?.trafficPolicy;
  return subsetPolicy(policyOfPort(rule.trafficPolicy, port), own, port);
}

/** Fields that the settings for a port lack take Envoy's default, whatever the rule states for other ports. */
function policyOfPort(policy: TrafficPolicy | undefined, port: number): TrafficPolicy | undefined {
  const settings = policy?.portLevelSettings.find((one) => one.port?.number === port);
  if (settings === undefined) return policy;
  const { connectionPool, loadBalancer, outlierDetection, tls } = settings;
  return create(TrafficPolicySchema, {
    ...(connectionPool && { connectionPool }),
    ...(loadBalancer && { loadBalancer }),
    ...(outlierDetection && { outlierDetection }),
    ...(tls && { tls }),
  });
}

/** A subset's settings over the rule's; its settings for a port stand for all of its own, and leave the rule's fields that ports cannot have. */
function subsetPolicy(
  rule: TrafficPolicy | undefined,
  subset: TrafficPolicy | undefined,
  port: number,
): TrafficPolicy | undefined {
  if (subset === undefined) return rule;
  const ofPort = policyOfPort(subset, port);
  const tunnel = ofPort?.tunnel ?? rule?.tunnel;
  const proxyProtocol = ofPort?.proxyProtocol ?? rule?.proxyProtocol;
  const retryBudget = ofPort?.retryBudget ?? rule?.retryBudget;
  const inherited = ofPort === subset ? rule : undefined;
  const connectionPool = ofPort?.connectionPool ?? inherited?.connectionPool;
  const loadBalancer = ofPort?.loadBalancer ?? inherited?.loadBalancer;
  const outlierDetection = ofPort?.outlierDetection ?? inherited?.outlierDetection;
  const tls = ofPort?.tls ?? inherited?.tls;
  return create(TrafficPolicySchema, {
    ...(connectionPool && { connectionPool }),
    ...(loadBalancer && { loadBalancer }),
    ...(outlierDetection && { outlierDetection }),
    ...(tls && { tls }),
    ...(tunnel && { tunnel }),
    ...(proxyProtocol && { proxyProtocol }),
    ...(retryBudget && { retryBudget }),
  });
}
