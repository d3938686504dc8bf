export {
  type AuthorizationInit,
  hasEffectiveRules,
  type PolicySettings,
  translatePolicy,
} from "./authorization.ts";
export {
  type Binding,
  type BindingLookups,
  bindingLabels,
  bindService,
  bindWorkload,
  canaryWeight,
  crossNamespace,
  gatewayNameLabel,
  isCalledDirectly,
  type Labelled,
  type WaypointName,
  wantedCanary,
} from "./binding.ts";
export { addressNames, networkRange, type ServiceFacts, type WorkloadFacts } from "./facts.ts";
export { addressBytes, serviceAddress, workloadAddress, workloadMessage } from "./messages.ts";
export { gatewayWorkload, type HboneGateway, hboneGatewaysOf, remoteHboneGateways } from "./network-gateway.ts";
export {
  convertPeerAuthentication,
  peerAuthenticationOfPolicy,
  peerPolicyNames,
  strictPolicy,
  strictPolicyName,
} from "./peer-authentication.ts";
export { entryTraits, gatewayFacts, partFacts, serviceFacts } from "./service.ts";
export {
  type FarWorkloads,
  farWorkloads,
  isGlobalService,
  type ScopeRule,
  splitHorizonWorkload,
} from "./split-horizon.ts";
export {
  type AmbientCondition,
  ambientConditionTypes,
  policyTargets,
  serviceConditions,
  type TargetLookups,
  waypointCondition,
  workloadConditions,
  ztunnelCondition,
} from "./status.ts";
export { canonicalOf, type EntryVisibility, entryVisibility, servedOf } from "./visibility.ts";
export {
  type GatewayClassTraits,
  inboundBinding,
  ingressUsesWaypoint,
  type Waypoint,
  waypointAttachment,
  waypointOf,
} from "./waypoint.ts";
export { waypointOfPolicy, waypointPolicy, waypointPolicyName } from "./waypoint-policy.ts";
export { workloadFacts } from "./workload.ts";
