/** Injection without a service around it: pods get their sidecar, Gateways get the workload that serves them. */
export { checkAnnotations } from "./annotations.ts";
export { type InjectionConfig, parseInjectionConfig, valueOverrides } from "./config.ts";
export {
  builtInDocuments,
  documentsOfMap,
  type InjectionConfigSource,
  type InjectionDocuments,
  injectionConfigSource,
  injectionMapOf,
} from "./config-source.ts";
export { type Decision, decide } from "./decision.ts";
export { InjectionError, type InjectionErrorCode } from "./errors.ts";
export { injectPod } from "./inject.ts";
export { injectionSettings } from "./injection-settings.ts";
export { overlayProblem } from "./managed-gateway/customize.ts";
export { isDeployed, type KubeGateway, ownershipOf, parametersOf, versionMark } from "./managed-gateway/gateway.ts";
export {
  keepSelector,
  type ManagedGatewayInputs,
  type ManagedGatewaySettings,
  renderGateway,
} from "./managed-gateway/render.ts";
export type { Json, Pod, Texts } from "./pod.ts";
export { checkPodShape } from "./pod-shape.ts";
export { environmentOfPath } from "./post/cluster-environment.ts";
export type { InjectionEnvironment, InjectionRequest } from "./request.ts";
export { injectWorkload, type WorkloadInjection } from "./workload.ts";
