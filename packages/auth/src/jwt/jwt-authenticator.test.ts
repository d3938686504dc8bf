import assert from "node:assert/strict";
import { createHmac, createPublicKey, type KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import { generatePrivateKey } from "@flotilla/pki";
import { noopLogger } from "@flotilla/runtime";
import { type JWTPayload, SignJWT } from "jose";
import type { Caller } from "../authenticator.ts";
import { jwtRulesOf } from "../local-issuer.ts";
import { jwtAuthenticator } from "./jwt-authenticator.ts";
import { parseJwtRule } from "./jwt-rule.ts";

const nowMs = 1_800_000_000_000;
const now = nowMs / 1000;
const rule = { issuer: "https://issuer.test", audiences: ["istio-ca", "other"] };
const rsa = await generatePrivateKey("rsa-2048");
const ec = await generatePrivateKey("ecdsa-p256");
const stranger = await generatePrivateKey("ecdsa-p256");

const jwk = (key: KeyObject, more: object = {}) => ({ ...createPublicKey(key).export({ format: "jwk" }), ...more });
const jwks = { keys: [jwk(rsa, { kid: "r", alg: "RS256" }), jwk(ec, { kid: "e", alg: "ES256" })] };

const good: JWTPayload = {
  iss: rule.issuer,
  aud: ["istio-ca"],
  sub: "system:serviceaccount:shop:reviews",
  iat: now,
  nbf: now,
  exp: now + 3600,
};

function sign(claims: JWTPayload, key = ec, header: { alg: string; kid?: string } = { alg: "ES256", kid: "e" }) {
  return new SignJWT(claims).setProtectedHeader(header).sign(key);
}

function callerWith(...authorization: readonly string[]): Caller {
  return { metadata: new Map([["authorization", authorization]]), remoteAddress: "10.0.0.1:1" };
}

function authenticator(loadKeys = async () => jwks as never, at = () => nowMs) {
  return jwtAuthenticator({ rule, trustDomain: () => "td", nowMs: at, log: noopLogger, loadKeys });
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function forged(alg: string, secret: string): string {
  const text = `${encode({ alg, kid: "r" })}.${encode(good)}`;
  const signature = alg === "none" ? "" : createHmac("sha256", secret).update(text).digest("base64url");
  return `${text}.${signature}`;
}

const publicPem = String(createPublicKey(rsa).export({ format: "pem", type: "spki" }));
const [head, , tail] = (await sign(good)).split(".");

const cases: readonly (readonly [string, string, RegExp | undefined])[] = [
  ["ES256", await sign(good), undefined],
  ["RS256", await sign(good, rsa, { alg: "RS256", kid: "r" }), undefined],
  ["the audience as one text", await sign({ ...good, aud: "istio-ca" }), undefined],
  ["one of several audiences", await sign({ ...good, aud: ["x", "other"] }), undefined],
  ["a token without key id", await sign(good, ec, { alg: "ES256" }), undefined],
  ["expired within the tolerance", await sign({ ...good, exp: now - 20 }), undefined],
  ["expired", await sign({ ...good, exp: now - 40 }), /exp/],
  ["not valid yet", await sign({ ...good, nbf: now + 100 }), /nbf/],
  ["no expiry", await sign({ ...good, exp: undefined } as never), /exp/],
  ["another issuer", await sign({ ...good, iss: "https://other.test" }), /iss/],
  ["another audience", await sign({ ...good, aud: ["other-mesh"] }), /audience/],
  ["no audience", await sign({ ...good, aud: [] }), /audience/],
  ["no subject", await sign({ ...good, sub: undefined } as never), /sub/],
  ["a subject that is no text", await sign({ ...good, sub: 5 } as never), /subject 5 is not/],
  ["a user as subject", await sign({ ...good, sub: "alice" }), /subject/],
  ["a subject with a path in it", await sign({ ...good, sub: "system:serviceaccount:a/sa/x:b" }), /subject/],
  ["signed by a stranger", await sign(good, stranger), /signature/],
  ["a key id that points nowhere", await sign(good, ec, { alg: "ES256", kid: "gone" }), /no applicable key/],
  ["a key id of a key of another kind", await sign(good, ec, { alg: "ES256", kid: "r" }), /no applicable key/],
  ["alg none", forged("none", ""), /alg/],
  ["an HMAC over the public key", forged("HS256", publicPem), /alg/],
  [
    "other claims under a good signature",
    `${head}.${encode({ ...good, sub: "system:serviceaccount:a:b" })}.${tail}`,
    /signature/,
  ],
  ["two parts", "a.b", /iss undefined/],
  ["no JSON", "a.b.c", /iss undefined/],
];

describe("jwt", () => {
  for (const [name, token, reason] of cases) {
    it(`${reason === undefined ? "takes" : "refuses"} ${name}`, async () => {
      const verdict = await authenticator().authenticate(callerWith("Basic abc", `Bearer ${token}`));
      if (reason === undefined) {
        assert.deepEqual(verdict, {
          authenticated: true,
          authenticator: "jwt",
          identities: ["spiffe://td/ns/shop/sa/reviews"],
          principal: "spiffe://td/ns/shop/sa/reviews",
          kubernetes: { namespace: "shop", serviceAccount: "reviews" },
        });
      } else assert.ok(!verdict.authenticated && reason.test(verdict.reason), JSON.stringify(verdict));
    });
  }

  for (const headers of [[], ["Basic abc"], ["bearer"], ["Bearer "], [`Bearer ${"x".repeat(20_000)}`]]) {
    it(`without a bearer token: ${JSON.stringify(headers).slice(0, 20)}`, async () =>
      assert.deepEqual(await authenticator().authenticate(callerWith(...headers)), {
        authenticated: false,
        reason: "no bearer token",
      }));
  }

  it("finds a new key of the issuer by itself, and drops one that has left", async () => {
    let set = { keys: [jwk(rsa, { kid: "r", alg: "RS256" })] };
    let at = nowMs;
    const under = authenticator(
      async () => set as never,
      () => at,
    );
    const ask = async (token: string) => (await under.authenticate(callerWith(`Bearer ${token}`))).authenticated;
    const [old, fresh] = [await sign(good, rsa, { alg: "RS256", kid: "r" }), await sign(good)];
    assert.deepEqual([await ask(old), await ask(fresh)], [true, false]);
    set = { keys: [jwk(ec, { kid: "e", alg: "ES256" })] };
    assert.equal(await ask(fresh), true);
    assert.equal(await ask(old), true); // its verdict is remembered
    at += 61_000; // the verdict is forgotten
    assert.equal(await ask(old), false);
  });

  it("goes on with the last good keys while the issuer is away", async () => {
    let isAway = false;
    let at = nowMs;
    const under = authenticator(
      async () => {
        if (isAway) throw new Error("away");
        return jwks as never;
      },
      () => at,
    );
    const token = await sign(good);
    assert.equal((await under.authenticate(callerWith(`Bearer ${token}`))).authenticated, true);
    isAway = true;
    at += 400_000;
    assert.equal((await under.authenticate(callerWith(`Bearer ${token}`))).authenticated, true);
    at += 3_600_000;
    assert.equal((await under.authenticate(callerWith(`Bearer ${token}`))).authenticated, false);
  });

  it("tokens of other issuers do not make it look for keys", async () => {
    let loads = 0;
    const under = authenticator(async () => {
      loads++;
      return jwks as never;
    });
    const stranger = await sign({ ...good, iss: "https://other.test" }, ec, { alg: "ES256", kid: "unknown" });
    for (let i = 0; i < 5; i++) await under.authenticate(callerWith(`Bearer ${stranger}`));
    assert.equal(loads, 0);
  });

  it("a token without key id may be of any key of the issuer", async () => {
    const twoKeys = { keys: [jwk(rsa), jwk(stranger), jwk(ec)] };
    const unnamed = (claims: JWTPayload, key = ec) => sign(claims, key, { alg: "ES256" });
    const other = await generatePrivateKey("ecdsa-p256");
    for (const [token, reason] of [
      [await unnamed(good), undefined],
      [await unnamed(good, stranger), undefined],
      [await unnamed({ ...good, exp: now - 40 }), /exp/],
      [await unnamed({ ...good, exp: now - 40 }, stranger), /exp/],
      [await unnamed(good, other), /signature/],
    ] as const) {
      const verdict = await authenticator(async () => twoKeys as never).authenticate(callerWith(`Bearer ${token}`));
      assert.equal(verdict.authenticated, reason === undefined, JSON.stringify(verdict));
      if (!verdict.authenticated) assert.match(verdict.reason, reason ?? /none/);
    }
  });

  for (const [name, pod, shown] of [
    ["is bound to", { name: "p", uid: "u" }, { podName: "p", podUid: "u" }],
    ["of which it names no UID", { name: "p" }, {}],
    ["of which it names no name", { uid: "u" }, {}],
  ] as const)
    it(`shows the pod that a token ${name}`, async () => {
      const token = await sign({ ...good, "kubernetes.io": { pod } });
      const verdict = await authenticator().authenticate(callerWith(`Bearer ${token}`));
      const account = { namespace: "shop", serviceAccount: "reviews" };
      assert.deepEqual(verdict.authenticated && verdict.kubernetes, { ...account, ...shown });
    });

  it("refuses all while there are no keys", async () => {
    const under = authenticator(async () => Promise.reject(new Error("away")));
    const verdict = await under.authenticate(callerWith(`Bearer ${await sign(good)}`));
    assert.ok(!verdict.authenticated && /no keys/.test(verdict.reason));
  });
});

describe("JWT rule", () => {
  it("is read in both spellings", () => {
    assert.deepEqual(parseJwtRule('{"issuer":"i","jwks_uri":"u","audiences":["a"]}'), {
      issuer: "i",
      jwksUri: "u",
      audiences: ["a"],
    });
    assert.deepEqual(parseJwtRule('{"issuer":"i","jwksFile":"f"}'), {
      issuer: "i",
      jwksFile: "f",
      audiences: ["istio-ca"],
    });
  });
  for (const [bad, reason] of [
    ["", /is not JSON/],
    ["[1", /is not JSON/],
    ["1", /is not an object/],
    ["null", /is not an object/],
    ["{}", /issuer is missing/],
    ['{"issuer":""}', /issuer is missing/],
    ['{"issuer":1}', /issuer is missing/],
    ['{"issuer":"i","audiences":"a"}', /audiences/],
    ['{"issuer":"i","audiences":["a",1]}', /audiences/],
    ['{"issuer":"i","jwksUri":1}', /jwksUri/],
    ['{"issuer":"i","jwks_file":1}', /jwksFile/],
  ] as const)
    it(`refuses ${JSON.stringify(bad)}`, () =>
      assert.throws(() => parseJwtRule(bad), { code: "AUTH_BAD_RULE", message: reason }));

  it("stands beside the local issuer's, unless that one is off", () => {
    const none = { tokenIssuer: undefined, tokenAudience: undefined };
    const settings = { ...none, jwtRule: '{"issuer":"i"}', localIssuer: true, audiences: ["a"], workDir: "/w" };
    const issuers = (more: Partial<typeof settings>) =>
      jwtRulesOf({ ...settings, ...more }).map(({ issuer, audiences }) => [issuer, ...audiences]);
    const local = ["https://issuer.flotilla.local", "a"];
    assert.deepEqual(issuers({}), [["i", "istio-ca"], local]);
    assert.deepEqual(issuers({ localIssuer: false }), [["i", "istio-ca"]]);
    assert.deepEqual(
      jwtRulesOf({ ...settings, jwtRule: undefined }).map(({ issuer }) => issuer),
      [local[0]],
    );
  });

  it("stands beside the rule of TOKEN_ISSUER, whose audience is AUDIENCE or those of the control plane", () => {
    const settings = { jwtRule: undefined, localIssuer: false, audiences: ["a", "b"], workDir: "/w" };
    const rules = (tokenAudience: string | undefined) =>
      jwtRulesOf({ ...settings, tokenIssuer: "https://issuer", tokenAudience });
    assert.deepEqual(rules(undefined), [{ issuer: "https://issuer", audiences: ["a", "b"] }]);
    assert.deepEqual(rules("own"), [{ issuer: "https://issuer", audiences: ["own"] }]);
  });
});
