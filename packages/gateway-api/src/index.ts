export {
  type BackendTarget,
  type BackendTlsSpec,
  backendTlsRules,
  isIgnoredPolicy,
  parentsAnnotation,
} from "./backend-tls.ts";
export { type BackendTrafficSpec, withTrafficPolicies } from "./backend-traffic.ts";
export type { BackendLookups, EndpointPicker, RouteContext } from "./backends.ts";
export { type Condition, withForeignEntries } from "./conditions.ts";
export { type CredentialData, certificateProblem, rootsProblem } from "./credentials.ts";
export {
  type ExternalBackendSpec,
  externalBackendOf,
  externalBackendRules,
  externalBackendStatus,
} from "./external-backend.ts";
export {
  builtInClasses,
  defaultClassSettings,
  type GatewayClassRules,
  type GatewayClassSettings,
  gatewayClassSettings,
  rulesOfController,
  type ServedClass,
  servedClass,
} from "./gateway-classes.ts";
export {
  type GatewayLookups,
  type GatewayPlan,
  gatewayConfigs,
  planGateway,
} from "./gateway-plan.ts";
export type {
  GatewayClassSpec,
  KubernetesGatewaySpec,
  ListenerSetSpec,
  NamespaceHead,
  ReferenceGrantSpec,
} from "./gateway-spec.ts";
export {
  type GatewayService,
  gatewayClassStatus,
  gatewayStatus,
  listenerSetStatus,
  type StatusLookups,
} from "./gateway-status.ts";
export {
  type InferencePoolSpec,
  inferenceGroup,
  isOwnPoolService,
  isPoolRef,
  isPoolService,
  type PoolServiceObject,
  poolService,
  poolServiceName,
  poolServiceOf,
} from "./inference-pool.ts";
export { inferencePoolStatus, type PoolGateway } from "./inference-pool-status.ts";
export {
  gatewayLabel,
  type IngressLookups,
  type IngressSettings,
  type IngressSpec,
  ingressGateway,
  ingressVirtualServices,
  isServedIngress,
  pathLength,
} from "./ingress.ts";
export type { ListenerPlan } from "./listener-plan.ts";
export { backendTlsStatus, backendTrafficStatus, type PolicyLookups } from "./policy-status.ts";
export { isRoute, readRoute } from "./read-route.ts";
export { isGranted } from "./reference-grants.ts";
export { type AttachedParent, type AttachmentLookups, attachRoute, meshGateway } from "./route-attachments.ts";
export type { RoutedConfig, RouteExtra, RouteExtras, RouteSession } from "./route-extras.ts";
export { isMeshParent, type RouteHead, type RouteParent, routeHead } from "./route-head.ts";
export { type HttpRouteSpec, type RouteKind, routeKinds } from "./route-spec.ts";
export { routeParentStatuses } from "./route-status.ts";
export {
  type AttachedRoute,
  hasGatewaySemantics,
  hasSegmentPrefixes,
  planRouteVirtualServices,
  type RouteVirtualService,
  routeName,
  routesBehind,
  routeVirtualServiceConfig,
  samePlan,
} from "./route-virtual-services.ts";
