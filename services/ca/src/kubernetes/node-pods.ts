/**
 * Pods of the clusters that ca works for, for the authorization of node proxies. Those without a node, and those that have
 * ended, prove nothing and are not read.
 */

import type { NodePod } from "@flotilla/auth";
import { type KubeApi, mirror, type Pod } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import type { PodTable } from "../authorize/pod-table.ts";

export interface NodePodsOptions {
  readonly table: PodTable;
  readonly log: Logger;
  readonly random: () => number;
  /** Why pods of a cluster cannot be followed now; undefined: they are. */
  readonly onState: (cluster: string, reason: string | undefined) => void;
}

interface Following {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

const path = `/api/v1/pods?fieldSelector=${encodeURIComponent("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed")}`;

export class NodePodsFollower implements AsyncDisposable {
  readonly #options: NodePodsOptions;
  readonly #following = new Map<string, Following>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: NodePodsOptions) {
    this.#options = options;
  }

  /** From now on through this API server; the pods known through one before stand until it has reported its own. Resolves then. */
  follow(cluster: string, api: KubeApi): Promise<void> {
    this.#end(cluster);
    const stop = new AbortController();
    const listed = Promise.withResolvers<void>();
    const ended = this.#read(cluster, api, listed.resolve, stop.signal).finally(listed.resolve);
    this.#following.set(cluster, { stop, ended });
    return listed.promise;
  }

  /** The cluster is removed: it proves no workloads any more. */
  leave(cluster: string): void {
    this.#end(cluster);
    this.#options.table.removeCluster(cluster);
    this.#options.onState(cluster, undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cluster of [...this.#following.keys()]) this.#end(cluster);
    await Promise.all(this.#ending);
  }

  #end(cluster: string): void {
    const following = this.#following.get(cluster);
    if (following === undefined) return;
    this.#following.delete(cluster);
    following.stop.abort();
    const { ended } = following;
    this.#ending.add(ended);
    void ended.finally(() => this.#ending.delete(ended));
  }

  async #read(cluster: string, api: KubeApi, onListed: () => void, stop: AbortSignal): Promise<void> {
    const { table, log, random, onState: report } = this.#options;
    const onState = (reason: string | undefined) => {
      if (stop.aborted) return;
      if (reason !== undefined) log.warn("pods cannot be followed, the last known ones stay", { cluster, reason });
      report(cluster, reason);
    };
    for await (const event of mirror<Pod>(api, { path, random, onState }, stop)) {
      if (event.type === "list") {
        table.replace(cluster, event.objects.flatMap(podOf));
        onListed();
      } else if (event.type === "put") for (const pod of podOf(event.object)) table.put(cluster, pod);
      else table.delete(cluster, event.object.metadata.namespace ?? "", event.object.metadata.name ?? "");
    }
  }
}

/** None, of an object that is no pod in force. */
function podOf({ metadata, spec }: Pod): readonly NodePod[] {
  const { name, namespace, uid } = metadata;
  const { nodeName, serviceAccountName: serviceAccount } = spec ?? {};
  if (!name || !namespace || !uid || !nodeName || !serviceAccount) return [];
  return [{ name, namespace, uid, nodeName, serviceAccount }];
}
