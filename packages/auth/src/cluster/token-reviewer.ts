/** Asks the API server about tokens, a few at a time. */

import type { KubeApi, TokenReview } from "@flotilla/kube-api";
import type { ReviewToken } from "../token-review.ts";
import { atATime } from "./at-a-time.ts";

const path = "/apis/authentication.k8s.io/v1/tokenreviews";

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
