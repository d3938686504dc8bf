/**
 * Impersonation: whether a node proxy may have a certificate for another identity. It may if it is one of the trusted accounts, its
 * token is bound to a pod that exists, and a pod of that identity runs on the same node of the same cluster.
 */
import type { KubernetesInfo } from "../authenticator.ts";
import { parseIdentity } from "../identity.ts";

/** A pod, as far as impersonation depends on it. */
export interface NodePod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly serviceAccount: string;
  readonly nodeName: string;
}

/** Look-ups of the pods of all clusters that are known. */
export interface NodePods {
  /** Undefined if the cluster is not known (any more). */
  podOf(cluster: string, namespace: string, name: string): NodePod | undefined;
  /** Does a pod of the account run on the node, and has not ended? */
  runsOn(cluster: string, node: string, namespace: string, serviceAccount: string): boolean;
}

/** The accounts that may request certificates for pods of their node, and what their requests are checked against. */
export interface ImpersonationRules {
  readonly clusterId: string;
  /** `namespace/name`. */
  readonly trustedAccounts: readonly string[];
  readonly trustDomains: () => readonly string[];
  readonly pods: NodePods;
}

/** Why the caller may not, for our log; undefined: it may. `requested` is of the caller's making. */
export function impersonationRefusal(
  caller: KubernetesInfo | undefined,
  requested: unknown,
  { trustedAccounts, clusterId, pods, trustDomains }: ImpersonationRules,
): string | undefined {
  if (typeof requested !== "string") return "the requested identity is not a text";
  if (caller?.podName === undefined || caller.podUid === undefined) return "the caller's token is not bound to a pod";
  const account = `${caller.namespace}/${caller.serviceAccount}`;
  if (!trustedAccounts.includes(account)) return `${account} is not a trusted node account`;
  const identity = parseIdentity(requested);
  if (identity === undefined || !trustDomains().includes(identity.trustDomain))
    return `${JSON.stringify(requested)} is not an identity of this mesh`;
  const cluster = caller.cluster ?? clusterId;
  const pod = pods.podOf(cluster, caller.namespace, caller.podName);
  if (pod === undefined) return `pod ${caller.namespace}/${caller.podName} is not found in cluster ${cluster}`;
  if (pod.uid !== caller.podUid) return `pod ${pod.name} has the UID ${pod.uid}, the token names ${caller.podUid}`;
  if (pod.serviceAccount !== caller.serviceAccount)
    return `pod ${pod.name} runs as ${pod.serviceAccount}, the token is of ${caller.serviceAccount}`;
  if (pod.nodeName === "") return `pod ${pod.name} has no node`;
  return pods.runsOn(cluster, pod.nodeName, identity.namespace, identity.serviceAccount)
    ? undefined
    : `no pod of ${identity.namespace}/${identity.serviceAccount} runs on node ${pod.nodeName}`;
}
