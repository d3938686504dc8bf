/**
 * The one decision on who calls, for every port of every service: which proofs count, which certificates are revoked, which trust
 * domains are the mesh's, and who may name another caller. Ports differ in their rules only (docs/security/ports.md).
 */
import { type Crl, isRevoked, PkiError, parseCertificate } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";
import { type Authenticator, firstOf, refused } from "../authenticator.ts";
import { clientCertificateAuthenticator } from "../client-certificate.ts";
import { parseIdentity } from "../identity.ts";
import { jwtAuthenticator } from "../jwt/jwt-authenticator.ts";
import type { JwtRule } from "../jwt/jwt-rule.ts";
import { type TokenReviewOptions, tokenReviewAuthenticator } from "../token-review.ts";
import { forwardedAuthenticator, xfccAuthenticator } from "../xfcc/xfcc-authenticator.ts";

/** Rules that distinguish the ports of the control plane: proofs, lists, trust domains and the callers that may name another caller. */
export interface PeerRules {
  /** Of the mesh, the first the one that tokens prove an identity of. */
  readonly trustDomains: () => readonly [string, ...string[]];
  /** Revocation lists of the CAs. Undefined: client certificates prove nothing on this port. */
  readonly crls?: () => readonly Crl[];
  readonly jwtRules: readonly JwtRule[];
  readonly clockToleranceMs?: number;
  /** The clusters that confirm Kubernetes tokens. */
  readonly review?: Omit<TokenReviewOptions, "trustDomain" | "nowMs"> | undefined;
  /** Networks whose gateways may name the caller, beside this host; none: no caller may. */
  readonly gatewayNetworks?: readonly string[];
  /** Service accounts that may name the caller whose request they pass on. */
  readonly forwarders?: { readonly namespace: string; readonly accounts: readonly string[] };
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Authenticates callers of one port, and checks again what was accepted before. */
export interface PeerIdentity {
  /** By any proof that the rules take. */
  readonly authenticator: Authenticator;
  /** By the client certificate alone. */
  readonly certificates: Authenticator;
  /** `der`: a certificate that was accepted before. */
  readonly isRevoked: (der: Buffer) => boolean;
}

/** For ports whose callers are service accounts, of whatever mesh: the trust domain plays no part. */
export const anyTrustDomain = (): readonly [string] => ["cluster.local"];

/** @throws AuthError AUTH_BAD_NETWORK */
export function peerIdentity(rules: PeerRules): PeerIdentity {
  const { trustDomains, crls = () => [], nowMs, gatewayNetworks = [], forwarders } = rules;
  const ofMesh = (inner: Authenticator): Authenticator => ofTrustDomains(trustDomains, inner);
  const certificates = clientCertificateAuthenticator({ nowMs, isRevoked: (one) => isRevoked(one, crls()) });
  const direct = firstOf([
    ...(rules.crls === undefined ? [] : [certificates]),
    ...tokenAuthenticators(rules),
    // Trusting a network trusts this host too, so a header counts only where somebody asked for it.
    ...(gatewayNetworks.length > 0 ? [xfccAuthenticator({ trustedNetworks: gatewayNetworks, certificates })] : []),
  ]);
  const isForwarder = (identities: readonly string[]): boolean =>
    identities.some((text) => {
      const identity = parseIdentity(text);
      return (
        identity?.namespace === forwarders?.namespace && forwarders?.accounts.includes(identity?.serviceAccount ?? "")
      );
    });
  const all =
    forwarders === undefined
      ? direct
      : forwardedAuthenticator({ hop: ofMesh(certificates), isForwarder, certificates }, direct);
  return {
    authenticator: ofMesh(all),
    certificates: ofMesh(certificates),
    isRevoked: (der) => isListed(der, crls()),
  };
}

function tokenAuthenticators({
  jwtRules,
  review,
  trustDomains,
  clockToleranceMs,
  nowMs,
  log,
}: PeerRules): readonly Authenticator[] {
  const trustDomain = () => trustDomains()[0];
  const common = { trustDomain, nowMs, log, ...(clockToleranceMs !== undefined && { clockToleranceMs }) };
  return [
    ...jwtRules.map((rule) => jwtAuthenticator({ rule, ...common })),
    ...(review === undefined ? [] : [tokenReviewAuthenticator({ ...review, trustDomain, nowMs })]),
  ];
}

function isListed(der: Buffer, crls: readonly Crl[]): boolean {
  if (crls.length === 0) return false;
  try {
    return isRevoked(parseCertificate(der), crls);
  } catch (error) {
    // It was accepted by the TLS layer, and proves no identity.
    if (error instanceof PkiError) return false;
    throw error;
  }
}

/**
 * Only identities of the mesh's own trust domains count: a shared root may sign for others too. Identities of other trust
 * domains are left out of what was proven; with none left the caller is refused.
 */
export function ofTrustDomains(trustDomains: () => readonly string[], inner: Authenticator): Authenticator {
  return {
    name: inner.name,
    authenticate: async (caller) => {
      const verdict = await inner.authenticate(caller);
      if (!verdict.authenticated) return verdict;
      // As identities have them: cloud providers name a trust domain like a mail address.
      const own = trustDomains().map((name) => name.replaceAll("@", "."));
      const identities = verdict.identities.filter((identity) => own.includes(trustDomainOf(identity) ?? ""));
      if (identities.length === 0)
        return {
          ...refused(`${verdict.identities.join(", ")}: not of the trust domains ${own.join(", ")}`),
          foreign: verdict.identities,
        };
      const { principal, ...rest } = verdict;
      return { ...rest, identities, ...(principal !== undefined && identities.includes(principal) && { principal }) };
    },
  };
}

function trustDomainOf(identity: string): string | undefined {
  return /^spiffe:\/\/([^/]+)\//.exec(identity)?.[1];
}
