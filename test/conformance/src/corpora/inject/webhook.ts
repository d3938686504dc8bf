/** One pod through the webhook: an AdmissionReview in, its patch applied. */
import { injectPod, type Pod } from "@flotilla/webhook/inject";
import type { Setting } from "../inject.ts";

export function askWebhook(
  pod: Pod,
  namespace: string,
  namespaceAnnotations: Readonly<Record<string, string>>,
  { config, environment, mesh }: Setting,
): Pod {
  return injectPod({ pod, namespace, namespaceAnnotations, proxyEnv: {}, mesh }, config, environment);
}
