/** Injection without the service around it. */
export type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
export type { PatchOperation } from "../patch/json-patch.ts";
export { answerPod, type InjectionState } from "./answer.ts";
export { type InjectionConfig, parseInjectionConfig } from "./config.ts";
export { type Decision, decide } from "./decision.ts";
export { injectPod } from "./inject.ts";
export type { Pod } from "./pod.ts";
export type { InjectionEnvironment, InjectionRequest } from "./request.ts";
export { injectWorkload, type WorkloadInjection } from "./workload.ts";
