/** Asks the API server whether a service account may read the Secrets of its namespace, as istiod does. */

import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import { type Identity, serviceAccountSubject } from "../identity.ts";
import { atATime } from "./token-reviewers.ts";

const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

export type Account = Omit<Identity, "trustDomain">;

/** Rejects when the API server does not answer: then nothing is known. */
export type ReviewSecretAccess = (account: Account) => Promise<boolean>;

interface AccessReview extends KubeObject {
  readonly status?: { readonly allowed?: boolean };
}

export function secretReviewer(api: KubeApi, maxAtATime: number): ReviewSecretAccess {
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
