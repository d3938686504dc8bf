/** The workload a pod belongs to, as far as the pod tells: what its owner is called, without what controllers append. */
import type { Metadata, Pod } from "./pod.ts";

export interface Workload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

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
