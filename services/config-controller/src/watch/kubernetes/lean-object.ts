/** An object without what others wrote into it for themselves: it may be larger than the object, and changes without it. */
import type { KubeObject, Labels } from "@flotilla/model";

/** Written by kubectl for itself; as large as the object. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
/** Reports about the object: nothing is generated from them. */
const reports: ReadonlySet<string> = new Set([
  ...["conditions", "validationMessages", "observedGeneration", "parents"],
  // Of Ingresses.
  "loadBalancer",
]);

export function leanObject(object: KubeObject): KubeObject {
  const { status, ...rest } = object;
  const told = leanStatus(status);
  return {
    ...rest,
    metadata: { ...object.metadata, annotations: leanAnnotations(object.metadata.annotations ?? {}) },
    ...(told !== undefined && { status: told }),
  } as KubeObject;
}

export function leanAnnotations({ [lastApplied]: _, ...annotations }: Labels): Labels {
  return annotations;
}

/** Undefined when nothing is left of it. */
export function leanStatus(status: unknown): unknown {
  const told = Object.entries(status ?? {}).filter(([field]) => !reports.has(field));
  return told.length > 0 ? Object.fromEntries(told) : undefined;
}
