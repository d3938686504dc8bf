/**
 * API servers as reviewers of tokens and of rights: the own one, and one for each cluster that a Secret names. Clusters are added, change
 * their credentials and are removed while calls are made.
 */
import { type KubeApi, type KubeConfig, openKubeApi, type RemoteClusters, type TokenReview } from "@flotilla/kube-api";
import type { ReviewToken } from "../token-review.ts";
import { atATime } from "./at-a-time.ts";
import { type ReviewAccount, secretReviewer } from "./secret-reviewer.ts";

const path = "/apis/authentication.k8s.io/v1/tokenreviews";

/** Asks the API server about tokens, a few at a time. */
export function tokenReviewer(api: KubeApi, maxAtATime: number): ReviewToken {
  const inTurn = atATime(maxAtATime);
  return (token, audiences) =>
    inTurn(async () => {
      const spec = { token, ...(audiences.length > 0 && { audiences }) };
      const review = await api.create<TokenReview>(path, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        metadata: {},
        spec,
      });
      return review.status ?? {};
    });
}

interface Reviewer {
  readonly kubeconfig: string;
  readonly api: KubeApi;
  readonly review: ReviewToken;
  readonly reviewSecrets: ReviewAccount;
}

/** Called with the API server of each cluster that is known from now on, and with undefined for one that is left. */
export type ClusterListener = (cluster: string, api: KubeApi | undefined) => void;

/** `maxReviews` bounds the reviews of each cluster at a time; tests replace `open`. */
export interface RemoteTokenReviewersOptions {
  readonly maxReviews: number;
  readonly open?: (config: KubeConfig) => KubeApi;
}

/** A review that has begun may end over the old connection. */
const goodbyeMs = 30_000;

/** API servers of other clusters, one for each cluster that a Secret names. They come, change their credentials and go while calls are made. */
export class RemoteTokenReviewers implements Disposable {
  readonly #options: RemoteTokenReviewersOptions;
  readonly #reviewers = new Map<string, Reviewer>();
  readonly #leaving = new Map<KubeApi, NodeJS.Timeout>();
  readonly #read = Promise.withResolvers<void>();
  #listener: ClusterListener = () => undefined;

  constructor(options: RemoteTokenReviewersOptions) {
    this.#options = options;
  }

  /** Undefined for a cluster that is not known, or not any more. */
  reviewerOf(cluster: string): ReviewToken | undefined {
    return this.#reviewers.get(cluster)?.review;
  }

  /** The same for rights to Secrets, once it is known which clusters there are. */
  async secretReviewerOf(cluster: string): Promise<ReviewAccount | undefined> {
    await this.#read.promise;
    return this.#reviewers.get(cluster)?.reviewSecrets;
  }

  /** One listener; it is called for those that are known already. */
  onChange(listener: ClusterListener): void {
    this.#listener = listener;
    for (const [cluster, { api }] of this.#reviewers) listener(cluster, api);
  }

  /** A cluster whose kubeconfig cannot be used keeps the reviewer it had; one without a Secret any more has none. */
  replaceClusters({ clusters }: RemoteClusters): void {
    const { open = openKubeApi, maxReviews } = this.#options;
    for (const { cluster, config, kubeconfig } of clusters.values()) {
      const before = this.#reviewers.get(cluster);
      if (config === undefined || before?.kubeconfig === kubeconfig) continue;
      const api = open(config);
      const review = tokenReviewer(api, maxReviews);
      this.#reviewers.set(cluster, { kubeconfig, api, review, reviewSecrets: secretReviewer(api, maxReviews) });
      this.#listener(cluster, api);
      if (before !== undefined) this.#leave(before.api);
    }
    for (const [cluster, { api }] of this.#reviewers) {
      if (clusters.has(cluster)) continue;
      this.#reviewers.delete(cluster);
      this.#listener(cluster, undefined);
      this.#leave(api);
    }
    this.#read.resolve();
  }

  [Symbol.dispose](): void {
    for (const { api } of this.#reviewers.values()) api[Symbol.dispose]();
    for (const [api, timer] of this.#leaving) {
      clearTimeout(timer);
      api[Symbol.dispose]();
    }
    this.#reviewers.clear();
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
