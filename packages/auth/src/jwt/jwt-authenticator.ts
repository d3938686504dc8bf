/** Proof by a signed token (OpenID Connect): the subject is a service account, the issuer one that is trusted. */
import type { Logger } from "@flotilla/runtime";
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import {
  type Authenticator,
  bearerToken,
  isForAudience,
  type KubernetesInfo,
  refused,
  type Verdict,
} from "../authenticator.ts";
import { AuthError } from "../errors.ts";
import { formatIdentity, parseServiceAccount } from "../identity.ts";
import { VerdictCache } from "../verdict-cache.ts";
import type { JwtRule } from "./jwt-rule.ts";
import { createKeySource, keysByDiscovery, keysFromFile, keysFromUri, type LoadKeys } from "./key-source.ts";

/** One issuer and how its tokens are checked; clocks may differ by `clockToleranceMs`. */
export interface JwtOptions {
  readonly rule: JwtRule;
  readonly trustDomain: () => string;
  readonly nowMs: () => number;
  readonly log: Logger;
  /** Clocks of issuer and control plane may differ by this. */
  readonly clockToleranceMs?: number;
  /** Where keys come from, in place of the rule. */
  readonly loadKeys?: LoadKeys;
}

/** Asymmetric ones only: with `none` or an HMAC, everybody with the public key could sign. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/**
 * Accepts bearer tokens that an issuer signed: signature, issuer, audience and time are checked, the subject must be a
 * service account.
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { rule, nowMs, trustDomain } = options;
  const keys = keySourceOf(options);
  // Short: the check is cheap, and a key that leaves the issuer's set must count soon.
  const cache = new VerdictCache({ maxEntries: 10_000, maxAgeMs: 60_000, nowMs });
  return {
    name: "jwt",
    authenticate: async (caller) => {
      const token = bearerToken(caller);
      if (token === undefined) return refused("no bearer token");
      const known = cache.get(trustDomain(), token);
      if (known !== undefined) return known;
      const payload = await verified(token, keys, options);
      if (typeof payload === "string") return refused(payload);
      const verdict = judge(payload, rule, trustDomain());
      if (verdict.authenticated) cache.put(trustDomain(), token, verdict, (payload.exp ?? 0) * 1000);
      return verdict;
    },
  };
}

function keySourceOf({ rule, nowMs, log, loadKeys }: JwtOptions): JWTVerifyGetKey {
  const { issuer, jwksUri, jwksFile } = rule;
  if (loadKeys !== undefined)
    return createKeySource({ load: loadKeys, from: issuer, nowMs, log, maxAgeMs: 300_000, cooldownMs: 0 });
  // A file is next to us: look often. A server is somebody else's: look seldom.
  if (jwksFile !== undefined)
    return createKeySource({
      load: keysFromFile(jwksFile),
      from: jwksFile,
      nowMs,
      log,
      maxAgeMs: 10_000,
      cooldownMs: 500,
    });
  const load = jwksUri === undefined ? keysByDiscovery(issuer) : keysFromUri(jwksUri);
  return createKeySource({ load, from: jwksUri ?? issuer, nowMs, log, maxAgeMs: 600_000, cooldownMs: 10_000 });
}

/** The payload, or why the token is refused. */
async function verified(token: string, keys: JWTVerifyGetKey, options: JwtOptions): Promise<JWTPayload | string> {
  const { rule, nowMs, clockToleranceMs = 30_000 } = options;
  // Before the key is looked up: a foreign token must not cause another request for the issuer's keys.
  const issuer = issuerOf(token);
  if (issuer !== rule.issuer) return `iss ${JSON.stringify(issuer)} is not ${rule.issuer}`;
  const checks = {
    issuer: rule.issuer,
    algorithms,
    currentDate: new Date(nowMs()),
    clockTolerance: clockToleranceMs / 1000,
    requiredClaims: ["exp", "sub", "aud"],
  };
  try {
    return (await jwtVerify(token, keys, checks)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return tryEach(token, error, checks);
    return reasonOf(error);
  }
}

/** Read without a check. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (error) {
    if (error instanceof errors.JWTInvalid || error instanceof TypeError) return undefined;
    throw error;
  }
}

/** A token without key id: any key of the set may have signed it. */
async function tryEach(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  checks: Parameters<typeof jwtVerify>[2],
): Promise<JWTPayload | string> {
  let reason = "no key of the issuer fits";
  for await (const key of candidates) {
    try {
      return (await jwtVerify(token, key, checks)).payload;
    } catch (error) {
      reason = reasonOf(error);
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return reason;
    }
  }
  return reason;
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JOSEError || error instanceof AuthError) return error.message;
  throw error;
}

function judge(payload: JWTPayload, rule: JwtRule, trustDomain: string): Verdict {
  const { aud = [] } = payload;
  // The issuer decides the content of a claim, whatever its type declares.
  const sub: unknown = payload.sub;
  const audiences = typeof aud === "string" ? [aud] : aud;
  if (!isForAudience(audiences, rule.audiences))
    return refused(`audience ${JSON.stringify(audiences)} is not expected`);
  const account = typeof sub === "string" ? parseServiceAccount(sub) : undefined;
  if (account === undefined) return refused(`subject ${JSON.stringify(sub)} is not a service account`);
  const principal = formatIdentity({ ...account, trustDomain });
  const kubernetes: KubernetesInfo = { ...account, ...podOf(payload) };
  return { authenticated: true, authenticator: "jwt", identities: [principal], principal, kubernetes };
}

/** Kubernetes writes the pod that a token is bound to into a claim of its own. */
function podOf(payload: JWTPayload): { podName?: string; podUid?: string } {
  const pod = (payload["kubernetes.io"] as { pod?: { name?: unknown; uid?: unknown } } | undefined)?.pod;
  if (typeof pod?.name !== "string" || typeof pod.uid !== "string") return {};
  return { podName: pod.name, podUid: pod.uid };
}
