/** An object without what others wrote into it for themselves: it may be larger than the object, and changes without it. */
import type { KubeObject } from "@flotilla/model";

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
  const { [lastApplied]: _, ...annotations } = object.metadata.annotations ?? {};
  const told = Object.entries(status ?? {}).filter(([field]) => !reports.has(field));
  return {
    ...rest,
    metadata: { ...object.metadata, annotations },
    ...(told.length > 0 && { status: Object.fromEntries(told) }),
  } as KubeObject;
}
