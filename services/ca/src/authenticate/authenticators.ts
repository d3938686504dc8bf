/** Which proofs ca takes, in their order: client certificate, tokens of issuers, tokens of clusters, gateways. */
import {
  type Authenticator,
  clientCertificateAuthenticator,
  firstOf,
  forwardedAuthenticator,
  jwtAuthenticator,
  parseIdentity,
  tokenReviewAuthenticator,
  xfccAuthenticator,
} from "@flotilla/auth";
import type { OwnCluster } from "@flotilla/auth/cluster";
import { type Crl, isRevoked } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";
import type { Config } from "../config.ts";

export interface AuthenticatorParts {
  readonly trustDomain: () => string;
  readonly trustDomains: () => readonly string[];
  readonly nowMs: () => number;
  readonly log: Logger;
  /** What the CAs have taken back. */
  readonly crls: () => readonly Crl[];
  /** Where a Kubernetes API can be asked. */
  readonly review?: OwnCluster["review"] | undefined;
}

export function createAuthenticator(
  config: Config,
  { trustDomain, trustDomains, nowMs, log, review, crls }: AuthenticatorParts,
): Authenticator {
  const { clockToleranceMs, audiences, trustedNetworks } = config;
  const reviews: readonly Authenticator[] =
    review === undefined ? [] : [tokenReviewAuthenticator({ ...review, audiences, trustDomain, nowMs })];
  const hop = clientCertificateAuthenticator({ nowMs, isRevoked: (one) => isRevoked(one, crls()) });
  const direct = firstOf([
    hop,
    ...config.jwtRules.map((rule) => jwtAuthenticator({ rule, trustDomain, nowMs, log, clockToleranceMs })),
    ...reviews,
    // Trusting a network trusts this host too, so a header counts only where somebody asked for it.
    ...(trustedNetworks.length > 0 ? [xfccAuthenticator({ trustedNetworks })] : []),
  ]);
  return forwardedAuthenticator({ hop, isForwarder: forwarders(config, trustDomains) }, direct);
}

/** Services of ours that pass requests on, as xds-server does on its secure port. */
function forwarders(
  { namespace, forwardingAccounts }: Config,
  trustDomains: () => readonly string[],
): (identities: readonly string[]) => boolean {
  return (identities) =>
    identities.some((text) => {
      const identity = parseIdentity(text);
      return (
        identity?.namespace === namespace &&
        forwardingAccounts.includes(identity.serviceAccount) &&
        trustDomains().includes(identity.trustDomain)
      );
    });
}
