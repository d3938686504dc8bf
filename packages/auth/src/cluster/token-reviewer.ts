/** Asks the API server about tokens, a few at a time: a storm of callers must not become a storm there. */

import type { KubeApi, TokenReview } from "@flotilla/kube-api";
import type { ReviewToken } from "../token-review.ts";

const path = "/apis/authentication.k8s.io/v1/tokenreviews";

export function tokenReviewer(api: KubeApi, maxAtATime: number): ReviewToken {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (token, audiences) => {
    if (running >= maxAtATime) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      const spec = { token, ...(audiences.length > 0 && { audiences }) };
      const review = await api.create<TokenReview>(path, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        metadata: {},
        spec,
      });
      return review.status ?? {};
    } finally {
      // Who waits takes over the place.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
