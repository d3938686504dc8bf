/** Admission requests for pods without the service around them. */
export type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
export type { PatchOperation } from "../patch/json-patch.ts";
export { answerPod, type InjectionState } from "./answer.ts";
