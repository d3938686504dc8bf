/** Injection into workloads as files have them: whatever holds a pod's template, lists included. */

import type { Workload } from "./owner.ts";
import type { Json, Pod } from "./pod.ts";

/** Injects one pod; undefined leaves it as it is. */
export type WorkloadInjection = (pod: Pod, workload: Workload) => Pod | undefined;

/** Objects without a pod come back as they are. */
export function injectWorkload(object: Json, inject: WorkloadInjection): Json {
  const { kind, items } = object as { readonly kind?: unknown; readonly items?: unknown };
  if (kind === "List" && Array.isArray(items))
    return { ...object, items: items.map((item) => injectWorkload(item as Json, inject)) };
  if (kind === "Pod") return injectAt(object, [], object, inject);
  if (kind === "CronJob") return injectAt(object, ["spec", "jobTemplate", "spec", "template"], object, inject);
  return injectAt(object, ["spec", "template"], object, inject);
}

function injectAt(object: Json, [step, ...path]: readonly string[], owner: Json, inject: WorkloadInjection): Json {
  if (step !== undefined) {
    const inner = object[step];
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
