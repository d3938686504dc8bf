/** Asks the API server of an account's cluster whether it may read the Secrets of its namespace, as istiod does. */

import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import { type Identity, serviceAccountSubject } from "../identity.ts";
import { atATime } from "./at-a-time.ts";

const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

export type Account = Omit<Identity, "trustDomain">;

/** An account of a cluster, by the name that the caller gives it: identities have none. */
export interface ClusterAccount extends Account {
  readonly cluster: string;
}

/** `unknown-cluster`: there is no API server to ask. */
export type SecretVerdict = "granted" | "refused" | "unknown-cluster";

/** Rejects when the API server does not answer: then nothing is known. */
export type ReviewSecretAccess = (account: ClusterAccount) => Promise<SecretVerdict>;

/** The same of one cluster. */
export type ReviewAccount = (account: Account) => Promise<boolean>;

interface AccessReview extends KubeObject {
  readonly status?: { readonly allowed?: boolean };
}

export function secretReviewer(api: KubeApi, maxAtATime: number): ReviewAccount {
  const inTurn = atATime(maxAtATime);
  return (account) =>
    inTurn(async () => {
      const review = await api.create<AccessReview>(path, {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: {},
        spec: {
          user: serviceAccountSubject(account),
          resourceAttributes: { namespace: account.namespace, verb: "list", resource: "secrets" },
        },
      });
      return review.status?.allowed === true;
    });
}

interface Reviewers {
  readonly ownCluster: string;
  readonly own: ReviewAccount;
  /** Of other clusters, once it is known which there are. */
  readonly reviewerOf: (cluster: string) => Promise<ReviewAccount | undefined>;
}

export function reviewInClusters({ ownCluster, own, reviewerOf }: Reviewers): ReviewSecretAccess {
  return async ({ cluster, ...account }) => {
    const review = cluster === ownCluster ? own : await reviewerOf(cluster);
    if (review === undefined) return "unknown-cluster";
    return (await review(account)) ? "granted" : "refused";
  };
}
