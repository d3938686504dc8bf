/**
 * API servers of other clusters as judges of tokens, one for each cluster that a Secret names. They come, change their
 * credentials and go while calls are made.
 */
import { type KubeApi, type KubeConfig, openKubeApi, type RemoteClusters } from "@flotilla/kube-api";
import type { ReviewToken } from "../token-review.ts";
import { tokenReviewer } from "./token-reviewer.ts";

interface Judge {
  readonly kubeconfig: string;
  readonly api: KubeApi;
  readonly review: ReviewToken;
}

/** Told of the API server of each cluster that is known from now on, and of undefined for one that is left. */
export type ClusterListener = (cluster: string, api: KubeApi | undefined) => void;

export interface RemoteJudgesOptions {
  readonly maxReviews: number;
  readonly open?: (config: KubeConfig) => KubeApi;
}

/** A review that has begun may end over the old connection. */
const goodbyeMs = 30_000;

export class RemoteJudges implements Disposable {
  readonly #options: RemoteJudgesOptions;
  readonly #judges = new Map<string, Judge>();
  readonly #leaving = new Map<KubeApi, NodeJS.Timeout>();
  #listener: ClusterListener = () => undefined;

  constructor(options: RemoteJudgesOptions) {
    this.#options = options;
  }

  /** Undefined for a cluster that is not known, or not any more. */
  reviewerOf(cluster: string): ReviewToken | undefined {
    return this.#judges.get(cluster)?.review;
  }

  /** One listener; it is told of those that are known already. */
  onChange(listener: ClusterListener): void {
    this.#listener = listener;
    for (const [cluster, { api }] of this.#judges) listener(cluster, api);
  }

  /** A cluster whose kubeconfig cannot be used keeps the judge it had; one that nobody names any more has none. */
  apply({ clusters }: RemoteClusters): void {
    const { open = openKubeApi, maxReviews } = this.#options;
    for (const { cluster, config, kubeconfig } of clusters.values()) {
      const before = this.#judges.get(cluster);
      if (config === undefined || before?.kubeconfig === kubeconfig) continue;
      const api = open(config);
      this.#judges.set(cluster, { kubeconfig, api, review: tokenReviewer(api, maxReviews) });
      this.#listener(cluster, api);
      if (before !== undefined) this.#leave(before.api);
    }
    for (const [cluster, { api }] of this.#judges) {
      if (clusters.has(cluster)) continue;
      this.#judges.delete(cluster);
      this.#listener(cluster, undefined);
      this.#leave(api);
    }
  }

  [Symbol.dispose](): void {
    for (const { api } of this.#judges.values()) api[Symbol.dispose]();
    for (const [api, timer] of this.#leaving) {
      clearTimeout(timer);
      api[Symbol.dispose]();
    }
    this.#judges.clear();
    this.#leaving.clear();
  }

  #leave(api: KubeApi): void {
    const end = () => {
      this.#leaving.delete(api);
      api[Symbol.dispose]();
    };
    this.#leaving.set(api, setTimeout(end, goodbyeMs));
  }
}
