/** Injection into workloads as files have them: whatever holds a pod's template, lists included. */

import { ownValue } from "@flotilla/model";
import type { Json, Pod } from "./pod.ts";
import type { Workload } from "./request.ts";

/** Injects one pod; undefined leaves it as it is. */
export type WorkloadInjection = (pod: Pod, workload: Workload) => Pod | undefined;

/** Objects without a pod come back as they are. */
export function injectWorkload(object: Json, inject: WorkloadInjection): Json {
  const { kind, items } = object as { readonly kind?: unknown; readonly items?: unknown };
  if (kind === "List" && Array.isArray(items))
    return { ...object, items: items.map((item) => injectWorkload(item as Json, inject)) };
  if (kind === "Pod") return injectAt(object, [], object, inject);
  if (kind === "CronJob") return injectCronJob(object, inject);
  return injectAt(object, ["spec", "template"], object, inject);
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
