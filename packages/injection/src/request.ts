/** What injection of one pod depends on. */
import type { Workload } from "./owner.ts";
import type { Json, Pod, Texts } from "./pod.ts";

export interface InjectionRequest {
  readonly pod: Pod;
  /** Of the request: a pod that is about to be made often names none. */
  readonly namespace: string;
  readonly namespaceAnnotations: Texts;
  /** Whose pod it is; found from the pod's owner when absent. */
  readonly workload?: Workload;
  /** Environment of the proxy that the webhook's address carries. */
  readonly proxyEnv: Texts;
  /** Complete, with defaults. */
  readonly mesh: Json;
}

/** What holds for all pods. */
export interface InjectionEnvironment {
  readonly revision: string;
  /** The proxy as an init container that goes on running, which Kubernetes starts first and ends last. */
  readonly nativeSidecars: boolean;
  readonly platform: string;
  readonly compliancePolicy: string;
}
