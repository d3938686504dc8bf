export {
  type AuthorizationInit,
  type TranslatedPolicy,
  translatePolicy,
} from "./authorization.ts";
export {
  type Binding,
  type BindingLookups,
  type BindingProblem,
  bindService,
  bindWorkload,
  gatewayNameLabel,
  type Labelled,
  type WaypointName,
} from "./binding.ts";
export type { GatewayFacts, NetworkRange, ServiceFacts, ServicePortFacts, WorkloadFacts } from "./facts.ts";
export { serviceAddress, workloadAddress } from "./messages.ts";
export { gatewayWorkload, type HboneGateway, hboneGatewayOf } from "./network-gateway.ts";
export {
  convertPeerAuthentication,
  peerPolicyNames,
  strictPolicy,
  strictPolicyName,
} from "./peer-authentication.ts";
export { type EntryTraits, gatewayFacts, serviceFacts } from "./service.ts";
export {
  type GatewayClassTraits,
  type InboundBinding,
  ingressUsesWaypoint,
  type Waypoint,
  waypointOf,
} from "./waypoint.ts";
export { workloadFacts } from "./workload.ts";
