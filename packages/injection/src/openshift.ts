/**
 * OpenShift gives each namespace a range of user ids of its own (`first/count`), and every container that names none the
 * first of them. The proxy takes the last, which no application has by itself, so that its traffic can be distinguished from theirs.
 * Source: corpus inject, hello-openshift and hello-openshift-custom-injection.
 */
import { changeContainer, type Json, type Pod, proxyName, type Texts } from "./pod.ts";

interface Range {
  readonly first: number;
  readonly last: number;
}

export interface ProxyIds {
  readonly uid: number;
  readonly gid: number;
}

/** Undefined elsewhere, and where the namespace has no range. */
export function proxyIds(platform: string, namespaceAnnotations: Texts): ProxyIds | undefined {
  const users = rangeOf(platform, namespaceAnnotations["openshift.io/sa.scc.uid-range"]);
  const groups = rangeOf(platform, namespaceAnnotations["openshift.io/sa.scc.supplemental-groups"]);
  return users === undefined ? undefined : { uid: users.last, gid: (groups ?? users).last };
}

/** The first id of the range in the pod's own istio-proxy was added before this webhook ran: no user wrote it. */
export function withoutGivenIds(pod: Pod, platform: string, namespaceAnnotations: Texts): Pod {
  const users = rangeOf(platform, namespaceAnnotations["openshift.io/sa.scc.uid-range"]);
  if (users === undefined) return pod;
  return changeContainer(pod, proxyName, (container) => {
    const { securityContext } = container;
    if (securityContext === undefined) return container;
    const isGiven = (field: string, value: unknown): boolean =>
      (field === "runAsUser" || field === "runAsGroup") && value === users.first;
    const own = Object.entries(securityContext).filter(([field, value]) => !isGiven(field, value));
    return { ...container, securityContext: Object.fromEntries(own) as Json };
  });
}

function rangeOf(platform: string, text: string | undefined): Range | undefined {
  const { 1: first, 2: count } = /^(\d+)\/(\d+)$/.exec(text ?? "") ?? [];
  if (platform !== "openshift" || first === undefined || count === undefined) return undefined;
  return { first: Number(first), last: Number(first) + Number(count) - 1 };
}
