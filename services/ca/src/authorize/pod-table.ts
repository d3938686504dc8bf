/** Pods by cluster, in the form that node authorization asks. */
import type { NodePod, NodePods } from "@flotilla/auth";

export class PodTable implements NodePods {
  readonly #clusters = new Map<string, Map<string, NodePod>>();
  readonly #onNodes = new Map<string, number>();

  put(cluster: string, pod: NodePod): void {
    this.delete(cluster, pod.namespace, pod.name);
    const pods = this.#clusters.get(cluster) ?? new Map<string, NodePod>();
    this.#clusters.set(cluster, pods);
    pods.set(keyOf(pod.namespace, pod.name), pod);
    this.#count(cluster, pod, 1);
  }

  delete(cluster: string, namespace: string, name: string): void {
    const pods = this.#clusters.get(cluster);
    const pod = pods?.get(keyOf(namespace, name));
    if (pod === undefined) return;
    pods?.delete(keyOf(namespace, name));
    this.#count(cluster, pod, -1);
  }

  /** Pods that are not among them are gone. */
  replace(cluster: string, pods: readonly NodePod[]): void {
    this.removeCluster(cluster);
    for (const pod of pods) this.put(cluster, pod);
  }

  removeCluster(cluster: string): void {
    for (const { namespace, name } of this.#clusters.get(cluster)?.values() ?? [])
      this.delete(cluster, namespace, name);
    this.#clusters.delete(cluster);
  }

  podOf(cluster: string, namespace: string, name: string): NodePod | undefined {
    return this.#clusters.get(cluster)?.get(keyOf(namespace, name));
  }

  runsOn(cluster: string, node: string, namespace: string, serviceAccount: string): boolean {
    return this.#onNodes.has(keyOf(cluster, node, namespace, serviceAccount));
  }

  #count(cluster: string, { nodeName, namespace, serviceAccount }: NodePod, change: 1 | -1): void {
    const key = keyOf(cluster, nodeName, namespace, serviceAccount);
    const count = (this.#onNodes.get(key) ?? 0) + change;
    if (count > 0) this.#onNodes.set(key, count);
    else this.#onNodes.delete(key);
  }
}

/** No name of Kubernetes holds a slash. */
function keyOf(...parts: readonly string[]): string {
  return parts.join("/");
}
