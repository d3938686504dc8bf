/** Injection into workloads as files have them: whatever holds a pod's template, lists included. */

import { isObject, ownValue } from "@flotilla/model";
import type { Json, Pod } from "./pod.ts";
import { type Workload, workloadOf } from "./request.ts";

/** Injects one pod; undefined leaves it as it is. */
export type WorkloadInjection = (pod: Pod, workload: Workload) => Pod | undefined;

/**
 * Kinds whose `spec.template` is that of a pod, by name alone: Deployments of extensions/v1beta1 have it too. Templates of other kinds are
 * something else, such as a Knative Service's, whose pods are injected when they are made.
 */
const templated: ReadonlySet<unknown> = new Set([
  ...["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"],
  ...["ReplicationController", "DeploymentConfig", "Rollout"],
]);

/** Objects without a pod come back as they are. */
export function injectWorkload(object: Json, inject: WorkloadInjection): Json {
  const { kind, items } = object as { readonly kind?: unknown; readonly items?: unknown };
  if (kind === "List" && Array.isArray(items))
    return { ...object, items: items.map((item) => (isObject(item) ? injectWorkload(item, inject) : item)) };
  if (kind === "Pod") return injectPodObject(object, inject);
  if (kind === "CronJob") return injectCronJob(object, inject);
  return templated.has(kind) ? injectAt(object, ["spec", "template"], object, inject) : object;
}

/** The owner of the pod is its workload, as for the webhook. */
function injectPodObject(object: Json, inject: WorkloadInjection): Json {
  if (!isObject(object["spec"])) return object;
  const pod = { ...object, metadata: object["metadata"] ?? {} } as Pod;
  return inject(pod, workloadOf(pod, "")) ?? object;
}

/** The metadata is the job's, not the pod's: so it is in Istio. Source: corpus inject, cronjob. */
function injectCronJob(object: Json, inject: WorkloadInjection): Json {
  const job = at(at(object, "spec"), "jobTemplate");
  const template = at(at(job, "spec"), "template");
  if (template["spec"] === undefined) return object;
  const pod = injectAt({ metadata: job["metadata"] ?? {}, spec: template["spec"] }, [], object, inject);
  const spec = { ...at(job, "spec"), template: { ...template, spec: pod["spec"] } };
  return { ...object, spec: { ...at(object, "spec"), jobTemplate: { ...job, metadata: pod["metadata"], spec } } };
}

function at(object: Json, field: string): Json {
  const value = ownValue(object, field);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function injectAt(object: Json, [step, ...path]: readonly string[], owner: Json, inject: WorkloadInjection): Json {
  if (step !== undefined) {
    const inner = ownValue(object, step);
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return object;
    return { ...object, [step]: injectAt(inner as Json, path, owner, inject) };
  }
  if (typeof object["spec"] !== "object" || object["spec"] === null) return object;
  const template = { ...object, metadata: object["metadata"] ?? {} } as Pod;
  const metadata = (owner["metadata"] ?? {}) as {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
  };
  return (
    inject(template, {
      apiVersion: String(owner["apiVersion"]),
      kind: String(owner["kind"]),
      name: metadata.name || (metadata.generateName ?? "").replace(/-$/, ""),
      namespace: metadata.namespace ?? "",
    }) ?? object
  );
}
