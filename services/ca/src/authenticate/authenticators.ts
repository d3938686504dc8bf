/** Which proofs ca takes, in their order: client certificate, tokens of issuers, tokens of clusters, gateways. */
import {
  type Authenticator,
  clientCertificateAuthenticator,
  firstOf,
  jwtAuthenticator,
  type TokenReviewOptions,
  tokenReviewAuthenticator,
  xfccAuthenticator,
} from "@flotilla/auth";
import type { Logger } from "@flotilla/runtime";
import type { Config } from "../config.ts";

export interface AuthenticatorParts {
  readonly trustDomain: () => string;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** Where a Kubernetes API can be asked. */
  readonly clusters?: Pick<TokenReviewOptions, "reviewerOf" | "aliases" | "clusterId"> | undefined;
}

export function createAuthenticator(
  config: Config,
  { trustDomain, nowMs, log, clusters }: AuthenticatorParts,
): Authenticator {
  const { clockToleranceMs, audiences, trustedNetworks } = config;
  const review: readonly Authenticator[] =
    clusters === undefined
      ? []
      : [tokenReviewAuthenticator({ ...clusters, audiences, policy: "third-party", trustDomain, nowMs })];
  return firstOf([
    clientCertificateAuthenticator({ nowMs }),
    ...config.jwtRules.map((rule) => jwtAuthenticator({ rule, trustDomain, nowMs, log, clockToleranceMs })),
    ...review,
    // Trusting a network trusts this host too, so a header counts only where somebody asked for it.
    ...(trustedNetworks.length > 0 ? [xfccAuthenticator({ trustedNetworks })] : []),
  ]);
}
