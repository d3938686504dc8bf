export type { Authenticated, Authenticator, Caller, KubernetesInfo, Refused, Verdict } from "./authenticator.ts";
export { isForAudience } from "./authenticator.ts";
export type { ClientCertificateOptions } from "./client-certificate.ts";
export { AuthError, type AuthErrorCode } from "./errors.ts";
export { expandTrustDomains, formatIdentity, type Identity, parseIdentity } from "./identity.ts";
export {
  type IssuerKeysSpec,
  issuerKeysKey,
  issuerKeysKind,
  issuerKeysSource,
  openIdConfigurationOf,
} from "./jwt/issuer-keys.ts";
export { type JwtOptions, jwtAuthenticator } from "./jwt/jwt-authenticator.ts";
export { type JwtRule, parseJwtRule } from "./jwt/jwt-rule.ts";
export type { LoadKeys } from "./jwt/key-source.ts";
export {
  type IssuerSettings,
  issuerSettings,
  jwtRulesOf,
  type LocalIssuer,
  localIssuerRule,
  openLocalIssuer,
  type TokenRequest,
} from "./local-issuer.ts";
export {
  callerOfRequest,
  operatorAudience,
  type PageAccess,
  type PageAccessOptions,
  pageAccess,
  serveProcessPages,
} from "./page-access.ts";
export {
  type ImpersonationRules,
  impersonationRefusal,
  type NodePod,
  type NodePods,
} from "./peer/impersonation.ts";
export { anyTrustDomain, type PeerIdentity, type PeerRules, peerIdentity } from "./peer/peer-identity.ts";
export { createFile, replaceFile } from "./private-file.ts";
export {
  type ReviewToken,
  type TokenReviewOptions,
  type TokenReviewStatus,
  tokenReviewAuthenticator,
} from "./token-review.ts";
export {
  RevocationLists,
  type TrustBundleSpec,
  type TrustedRoot,
  trustBundleKind,
  trustBundleOf,
} from "./trust/trust-bundle.ts";
export {
  decodeTrustReport,
  encodeTrustReport,
  type ProxyTrust,
  trustReportBucket,
  trustReportTtlMs,
} from "./trust/trust-report.ts";
export type { ForwardedOptions } from "./xfcc/xfcc-authenticator.ts";
export { trustedNetworks, type XfccOptions, xfccAuthenticator } from "./xfcc/xfcc-authenticator.ts";
export { formatXfcc, type XfccElement } from "./xfcc/xfcc-header.ts";
