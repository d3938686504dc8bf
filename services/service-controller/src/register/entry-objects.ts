/** WorkloadEntries of machines as objects of Kubernetes: those to be written, and those written already. */
import type { KubeObject as ApiObject } from "@flotilla/kube-api";
import { type Config, equalJson, type KubeObject } from "@flotilla/model";
import {
  controllerAnnotation,
  disconnectedAnnotation,
  groupAnnotation,
  registrationController,
} from "@flotilla/registry/convert";

const apiVersion = "networking.istio.io/v1";
const base = `/apis/${apiVersion}`;
export const allEntries = `${base}/workloadentries`;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
  readonly lastProbeTime?: string;
  readonly lastTransitionTime?: string;
}

export function entriesPath(namespace: string): string {
  return `${base}/namespaces/${namespace}/workloadentries`;
}

export function entryPath({ namespace, name }: Config["key"]): string {
  return `${entriesPath(namespace)}/${name}`;
}

export function groupPath(namespace: string, name: string): string {
  return `${base}/namespaces/${namespace}/workloadgroups/${name}`;
}

/** Was it written here? */
export function isOurs({ metadata }: ApiObject): boolean {
  const { annotations = {} } = metadata;
  return annotations[controllerAnnotation] === registrationController && annotations[groupAnnotation] !== undefined;
}

/**
 * Another control plane registered it, its machine left for longer than the grace, and the entry was not removed. One that
 * is not marked as left may be connected there.
 */
export function isLeftBehind(object: ApiObject, nowMs: number, graceMs: number): boolean {
  const left = Date.parse(object.metadata.annotations?.[disconnectedAnnotation] ?? "");
  return isRegistration(object) && !isOurs(object) && nowMs - left > graceMs;
}

/** True where it is the registration of a machine, by any writer. */
export function isRegistration({ metadata }: ApiObject): boolean {
  return metadata.annotations?.[groupAnnotation] !== undefined;
}

/** Goes with its group: Kubernetes removes it when the group is removed. */
export function entryObject({ key, labels, annotations, spec }: Config, group: ApiObject): KubeObject {
  const { name = "", uid = "" } = group.metadata;
  const owner = { apiVersion, kind: "WorkloadGroup", name, uid, controller: true };
  const { namespace } = key;
  return {
    apiVersion,
    kind: "WorkloadEntry",
    metadata: { name: key.name, namespace, labels, annotations, ownerReferences: [owner] },
    spec,
  };
}

export function saysTheSame(wanted: KubeObject, stored: KubeObject): boolean {
  const { labels, annotations, ownerReferences } = wanted.metadata;
  const is = stored.metadata;
  return (
    equalJson(labels ?? {}, is.labels ?? {}) &&
    equalJson(annotations ?? {}, is.annotations ?? {}) &&
    equalJson(ownerReferences?.[0]?.uid, is.ownerReferences?.[0]?.uid) &&
    equalJson(wanted["spec"], stored["spec"])
  );
}

export function healthOf(status: unknown): Condition | undefined {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find(({ type }) => type === "Healthy");
}

/** The status with that health; undefined when it has it already. */
export function statusWithHealth(status: unknown, health: Condition, nowMs: number): object | undefined {
  const before = healthOf(status);
  const isSame = before?.status === health.status;
  if (isSame && (before?.message ?? "") === (health.message ?? "")) return undefined;
  const changedAt = isSame ? before?.lastTransitionTime : undefined;
  const { conditions = [], ...others } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  const condition: Condition = { ...health, lastTransitionTime: changedAt ?? new Date(nowMs).toISOString() };
  return { ...others, conditions: [...conditions.filter(({ type }) => type !== "Healthy"), condition] };
}
