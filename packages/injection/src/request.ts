/** What injection of one pod depends on. */
import type { Json, Metadata, Pod, Texts } from "./pod.ts";

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

export interface Workload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** The workload a pod belongs to, as far as the pod reports: what its owner is called, without what controllers append. */
export function workloadOf({ metadata }: Pod, namespace: string): Workload {
  const space = metadata.namespace || namespace;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return { apiVersion: "v1", kind: "Pod", name: ownName(metadata), namespace: space };
  const { apiVersion, kind, name } = owner;
  const hash = metadata.labels?.["pod-template-hash"];
  // A Deployment stands behind a ReplicaSet whose name ends in the hash of the pod's template.
  if (kind === "ReplicaSet" && hash !== undefined && name.endsWith(`-${hash}`)) {
    return { apiVersion, kind: "Deployment", name: name.slice(0, -hash.length - 1), namespace: space };
  }
  const config = metadata.labels?.["deploymentconfig"];
  if (kind === "ReplicationController" && config !== undefined && name.startsWith(`${config}-`)) {
    return { apiVersion: "apps.openshift.io/v1", kind: "DeploymentConfig", name: config, namespace: space };
  }
  // A CronJob stands behind a Job whose name ends in the minute it was due.
  const cron = kind === "Job" ? /^(.+)-\d{8,}$/.exec(name)?.[1] : undefined;
  if (cron !== undefined) return { apiVersion, kind: "CronJob", name: cron, namespace: space };
  return { apiVersion, kind, name, namespace: space };
}

function ownName({ name, generateName }: Metadata): string {
  return name || (generateName ?? "").replace(/-$/, "");
}
