/** Inputs of the injection of one pod. */
import type { ProxyConfigLayers } from "@flotilla/model";
import type { Json, Metadata, OwnerReference, Pod, Texts } from "./pod.ts";

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
  /** Of the ProxyConfig objects that are for the pod; without them the mesh's settings hold. */
  readonly proxyConfigs?: ProxyConfigLayers;
}

/** Inputs that are the same for all pods. */
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

/** The workload a pod belongs to, as far as the pod reports: the name of its owner, without the suffix of its controller. */
export function workloadOf({ metadata }: Pod, namespace: string): Workload {
  const space = metadata.namespace || namespace;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  // A pod with a name of its own stands for itself, even where somebody owns it.
  if (owner === undefined || (metadata.generateName ?? "") === "")
    return { apiVersion: "v1", kind: "Pod", name: ownName(metadata), namespace: space };
  return { ...controllerOf(owner, metadata.labels ?? {}), namespace: space };
}

function controllerOf({ apiVersion, kind, name }: OwnerReference, labels: Texts): Omit<Workload, "namespace"> {
  const without = (suffix: string) => name.slice(0, name.endsWith(`-${suffix}`) ? -suffix.length - 1 : undefined);
  // A Deployment stands behind a ReplicaSet whose name ends in the hash of the pod's template.
  const hash = labels["pod-template-hash"] ?? "";
  if (kind === "ReplicaSet" && hash !== "" && name.endsWith(hash))
    return { apiVersion, kind: "Deployment", name: without(hash) };
  // The same of Argo Rollouts.
  const rollout = labels["rollouts-pod-template-hash"] ?? "";
  if (kind === "ReplicaSet" && rollout !== "" && name.endsWith(rollout))
    return { apiVersion: "v1alpha1", kind: "Rollout", name: without(rollout) };
  const config = labels["deploymentconfig"] ?? "";
  if (kind === "ReplicationController" && config !== "") return { apiVersion, kind: "DeploymentConfig", name: config };
  // A CronJob stands behind a Job whose name ends in the minute it was due.
  const cron = kind === "Job" ? /^(.+)-\d{8,10}$/.exec(name)?.[1] : undefined;
  return cron === undefined ? { apiVersion, kind, name } : { apiVersion: "batch/v1", kind: "CronJob", name: cron };
}

function ownName({ name, generateName }: Metadata): string {
  return name || (generateName ?? "").replace(/-$/, "");
}
