/** What a directory may hold: which kinds are configuration, which are somebody else's, which nobody knows. */
import { apiGroup, type KubeObject } from "@flotilla/model";
import { configKind, isClusterScoped } from "@flotilla/registry/config";
import type { Admission } from "@flotilla/sources";

export type ObjectCheck = (object: KubeObject) => readonly { readonly field: string; readonly reason: string }[];

/** Groups of Kubernetes itself: a directory of manifests has their kinds too, and they are of no concern here. */
const otherGroups: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apps",
  "autoscaling",
  "batch",
  "coordination.k8s.io",
  "discovery.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
]);

/** Kinds of the core group that others read, or nobody. */
const otherCoreKinds: ReadonlySet<string> = new Set([
  "Endpoints",
  "Event",
  "LimitRange",
  "Node",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Pod",
  "PodTemplate",
  "ReplicationController",
  "ResourceQuota",
  "Service",
]);

export function configAdmission(check: ObjectCheck): Admission {
  return {
    check,
    kindOf(apiVersion, kind) {
      if (configKind(apiVersion, kind) !== undefined) return { namespaced: !isClusterScoped(kind), wanted: true };
      const group = apiGroup(apiVersion);
      const isOther = group === "" ? otherCoreKinds.has(kind) : otherGroups.has(group);
      return isOther ? { namespaced: true, wanted: false } : undefined;
    },
  };
}
