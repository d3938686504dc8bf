/** The own cluster as a judge of tokens. */
import { type KubeApi, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import type { TokenReviewOptions } from "../token-review.ts";
import type { ClusterSettings } from "./cluster-settings.ts";
import { tokenReviewer } from "./token-reviewer.ts";

export interface OwnCluster extends Disposable {
  readonly api: KubeApi;
  /** For tokenReviewAuthenticator. */
  readonly review: Pick<TokenReviewOptions, "clusterId" | "aliases" | "reviewerOf" | "policy">;
}

/** Undefined when nothing names a cluster. @throws KubeError KUBE_CONFIG */
export async function openOwnCluster(settings: ClusterSettings): Promise<OwnCluster | undefined> {
  const { kubeconfig, kubeHost, kubePort, clusterId, clusterAliases, maxReviews, jwtPolicy } = settings;
  const found = await loadKubeConfig({
    KUBECONFIG: kubeconfig,
    KUBERNETES_SERVICE_HOST: kubeHost,
    KUBERNETES_SERVICE_PORT: kubePort,
  });
  if (found === undefined) return undefined;
  const api = openKubeApi(found);
  const reviewer = tokenReviewer(api, maxReviews);
  return {
    api,
    review: {
      clusterId,
      aliases: new Map(clusterAliases.map((text) => text.split("=") as [string, string])),
      reviewerOf: (cluster) => (cluster === clusterId ? reviewer : undefined),
      policy: jwtPolicy === "first-party-jwt" ? "first-party" : "third-party",
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}
