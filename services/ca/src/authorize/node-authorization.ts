/**
 * May a node proxy have a certificate for another identity? Only if it is one of the trusted accounts, its token is bound to a
 * pod that exists, and a pod of that identity runs on the same node of the same cluster.
 */
import { type KubernetesInfo, parseIdentity } from "@flotilla/auth";
import { CaError } from "../errors.ts";

export interface NodePod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly serviceAccount: string;
  readonly nodeName: string;
}

export interface NodePods {
  /** Undefined if the cluster is not known (any more). */
  podOf(cluster: string, namespace: string, name: string): NodePod | undefined;
  /** Does a pod of the account run on the node, and has not ended? */
  runsOn(cluster: string, node: string, namespace: string, serviceAccount: string): boolean;
}

export interface NodeRules {
  readonly clusterId: string;
  /** `namespace/name`. */
  readonly trustedAccounts: readonly string[];
  readonly trustDomains: () => readonly string[];
  readonly pods: NodePods;
}

/** @throws CaError CA_NODE_REFUSED with the reason, which is for our log. */
export function authorizeNode(caller: KubernetesInfo | undefined, requested: string, rules: NodeRules): void {
  const { trustedAccounts, clusterId, pods, trustDomains } = rules;
  if (caller?.podName === undefined || caller.podUid === undefined)
    throw no("the caller's token is not bound to a pod");
  const account = `${caller.namespace}/${caller.serviceAccount}`;
  if (!trustedAccounts.includes(account)) throw no(`${account} is not a trusted node account`);
  const identity = parseIdentity(requested);
  if (identity === undefined || !trustDomains().includes(identity.trustDomain))
    throw no(`${JSON.stringify(requested)} is not an identity of this mesh`);
  const cluster = caller.cluster ?? clusterId;
  const pod = pods.podOf(cluster, caller.namespace, caller.podName);
  if (pod === undefined) throw no(`pod ${caller.namespace}/${caller.podName} is not found in cluster ${cluster}`);
  if (pod.uid !== caller.podUid) throw no(`pod ${pod.name} has the UID ${pod.uid}, the token names ${caller.podUid}`);
  if (pod.serviceAccount !== caller.serviceAccount)
    throw no(`pod ${pod.name} runs as ${pod.serviceAccount}, the token is of ${caller.serviceAccount}`);
  if (pod.nodeName === "") throw no(`pod ${pod.name} has no node`);
  if (!pods.runsOn(cluster, pod.nodeName, identity.namespace, identity.serviceAccount))
    throw no(`no pod of ${identity.namespace}/${identity.serviceAccount} runs on node ${pod.nodeName}`);
}

function no(reason: string): CaError {
  return new CaError("CA_NODE_REFUSED", reason);
}
