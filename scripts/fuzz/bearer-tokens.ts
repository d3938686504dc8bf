/** Tokens of an issuer whose key is made at each start, and the reader of tokens that trusts it. */
import { generateKeyPairSync, sign } from "node:crypto";
import { noopLogger } from "@flotilla/runtime";
import { jwtAuthenticator } from "../../packages/auth/src/jwt/jwt-authenticator.ts";
import { parseJwtRule } from "../../packages/auth/src/jwt/jwt-rule.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" }] };
const issuer = "https://issuer.test";
const nowMs = 1_700_000_000_000;
const rule = parseJwtRule(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys`, audiences: ["istio-ca"] }));
const authenticator = jwtAuthenticator({
  rule,
  trustDomain: () => "cluster.local",
  nowMs: () => nowMs,
  log: noopLogger,
  loadKeys: async () => keys as never,
});

const claims = { iss: issuer, aud: "istio-ca", sub: "system:serviceaccount:shop:web", exp: nowMs / 1_000 + 60 };
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function signed(header: object, payload: unknown): Buffer {
  const text = `${part(header)}.${part(payload)}`;
  const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return Buffer.from(`${text}.${signature.toString("base64url")}`);
}

export const bearerTokens = {
  /** One that proves an account, and correctly signed ones of odd contents. */
  samples: [
    signed({ alg: "ES256", kid: "k" }, claims),
    ...[null, [], "x", { ...claims, exp: "soon" }, { ...claims, aud: [1, null] }, { ...claims, sub: 5 }].map((odd) =>
      signed({ alg: "ES256", kid: "k" }, odd),
    ),
    signed({ alg: "none" }, claims),
  ],
  /** Refuses, or names an account; never rejects. */
  authenticate: async (input: Buffer): Promise<void> => {
    const metadata = new Map([["authorization", [`Bearer ${input.toString("latin1")}`]]]);
    await authenticator.authenticate({ metadata, peerCertificate: undefined } as never);
  },
};
