/**
 * A token issuer for meshes without Kubernetes: one key in the work directory, readable by its owner alone, and beside it the
 * JWKS that ca and xds-server trust. Tokens look like projected service account tokens.
 */
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { generatePrivateKey, parsePrivateKey, privateKeyPem } from "@flotilla/pki";
import { flag, list, type SettingsOf, text } from "@flotilla/runtime";
import { SignJWT } from "jose";
import { AuthError } from "./errors.ts";
import { formatIdentity, serviceAccountSubject } from "./identity.ts";
import { defaultAudience, type JwtRule, parseJwtRule } from "./jwt/jwt-rule.ts";
import { createFile, replaceFile } from "./private-file.ts";

/** The `iss` of its tokens: there is one local issuer to a work directory. */
export const localIssuerName = "https://issuer.flotilla.local";

/** Whose token, for which audience and for how long; `ttlMs` is one hour unless given, rounded up to seconds. */
export interface TokenRequest {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly audience?: string;
  readonly ttlMs?: number;
  /** The workload that the token is for, in the form of a pod. */
  readonly pod?: { readonly name: string; readonly uid: string };
}

/** Mints tokens with the key of one work directory. */
export interface LocalIssuer {
  /** The rule that a service needs to trust the tokens. */
  readonly rule: JwtRule;
  /** Without a newline at its end: ztunnel sends a token file as it is. */
  mintToken(request: TokenRequest): Promise<string>;
}

const hourMs = 3_600_000;

/** The rule of the issuer in a work directory, whether it exists already or not. */
export function localIssuerRule(workDir: string, audiences: readonly string[] = [defaultAudience]): JwtRule {
  return { issuer: localIssuerName, audiences, jwksFile: join(workDir, "issuer", "jwks.json") };
}

/** Makes the key at first use; several processes may do so at once. @throws AuthError AUTH_BAD_ISSUER */
export async function openLocalIssuer(workDir: string, nowMs: () => number = Date.now): Promise<LocalIssuer> {
  const directory = join(workDir, "issuer");
  const rule = localIssuerRule(workDir);
  const key = await openKey(directory);
  const { kid, jwks } = describe(key);
  await publish(String(rule.jwksFile), jwks);
  return {
    rule,
    mintToken: ({ namespace, serviceAccount, audience = defaultAudience, ttlMs = hourMs, pod }) => {
      formatIdentity({ trustDomain: "check", namespace, serviceAccount });
      const now = Math.floor(nowMs() / 1000);
      const claim = { namespace, serviceaccount: { name: serviceAccount }, ...(pod && { pod }) };
      return new SignJWT({ "kubernetes.io": claim })
        .setProtectedHeader({ alg: "ES256", kid, typ: "JWT" })
        .setIssuer(rule.issuer)
        .setAudience([audience])
        .setSubject(serviceAccountSubject({ namespace, serviceAccount }))
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + Math.ceil(ttlMs / 1000))
        .sign(key);
    },
  };
}

async function openKey(directory: string): Promise<KeyObject> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, "key.pem");
  let pem = await readIfThere(file);
  if (pem === undefined) {
    // The process that loses the race uses the winner's key.
    await createFile(file, privateKeyPem(await generatePrivateKey("ecdsa-p256")), 0o600);
    pem = await readFile(file, "utf8");
  }
  try {
    const key = parsePrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;
  } catch (cause) {
    throw new AuthError("AUTH_BAD_ISSUER", `${file} holds no key; remove it to make a new one`, { cause });
  }
  throw new AuthError("AUTH_BAD_ISSUER", `${file} holds a key that is not of P-256; remove it to make a new one`);
}

function describe(key: KeyObject): { readonly kid: string; readonly jwks: string } {
  const jwk = createPublicKey(key).export({ format: "jwk" });
  const kid = createHash("sha256").update(`${jwk.x}.${jwk.y}`).digest("hex").slice(0, 16);
  return { kid, jwks: `${JSON.stringify({ keys: [{ ...jwk, kid, alg: "ES256", use: "sig" }] })}\n` };
}

async function publish(file: string, jwks: string): Promise<void> {
  if ((await readIfThere(file)) !== jwks) await replaceFile(file, jwks, 0o644);
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The settings that name the issuers whose tokens prove an identity to ca and xds-server. */
export const issuerSettings = {
  jwtRule: text({
    env: "JWT_RULE",
    default: undefined,
    sentence: "Issuer whose tokens prove an identity, as JSON: issuer, jwks_uri or jwks_file, audiences.",
  }),
  tokenIssuer: text({
    env: "TOKEN_ISSUER",
    default: undefined,
    sentence: "OpenID Connect issuer whose tokens prove an identity; its keys are found by discovery.",
  }),
  tokenAudience: text({
    env: "AUDIENCE",
    default: undefined,
    sentence: "Audience of tokens of TOKEN_ISSUER; those of TOKEN_AUDIENCES if not set.",
  }),
  localIssuer: flag({
    env: "LOCAL_ISSUER",
    default: true,
    sentence: "Tokens of the issuer in WORK_DIR prove an identity.",
  }),
  audiences: list({
    env: "TOKEN_AUDIENCES",
    default: [defaultAudience],
    sentence: "Audiences of tokens for the control plane.",
  }),
} as const;

/** Values of `issuerSettings`, with the directory of the local issuer. */
export interface IssuerSettings extends SettingsOf<typeof issuerSettings> {
  readonly workDir: string;
}

/** @throws AuthError AUTH_BAD_RULE */
export function jwtRulesOf(settings: IssuerSettings): readonly JwtRule[] {
  const { jwtRule, tokenIssuer: issuer, tokenAudience, localIssuer, audiences, workDir } = settings;
  return [
    ...(jwtRule === undefined ? [] : [parseJwtRule(jwtRule)]),
    ...(issuer === undefined ? [] : [{ issuer, audiences: tokenAudience === undefined ? audiences : [tokenAudience] }]),
    ...(localIssuer ? [localIssuerRule(workDir, audiences)] : []),
  ];
}
