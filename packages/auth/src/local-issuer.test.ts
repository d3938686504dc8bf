/** The issuer of a work directory: one key for all processes, and tokens that name an account, an audience and their end. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { generatePrivateKey, privateKeyPem } from "@flotilla/pki";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { localIssuerName, localIssuerRule, openLocalIssuer } from "./local-issuer.ts";

const parent = mkdtempSync(join(tmpdir(), "flotilla-issuer-"));
after(() => rmSync(parent, { recursive: true }));
const nowMs = () => 1_700_000_000_500;
const jwksOf = (workDir: string) =>
  JSON.parse(readFileSync(join(workDir, "issuer", "jwks.json"), "utf8")) as JSONWebKeySet;
const request = { namespace: "shop", serviceAccount: "web" };

describe("the local issuer", () => {
  const workDir = join(parent, "new", "mesh");

  it("makes its key once, for its owner alone, and publishes the public one for everybody", async () => {
    const [one, two] = await Promise.all([openLocalIssuer(workDir, nowMs), openLocalIssuer(workDir, nowMs)]);
    const mode = (...names: readonly string[]): number => statSync(join(workDir, "issuer", ...names)).mode & 0o777;
    assert.deepEqual([mode(), mode("key.pem"), mode("jwks.json")], [0o700, 0o600, 0o644]);
    const jwks = jwksOf(workDir);
    const [key = assert.fail(), ...more] = jwks.keys;
    assert.deepEqual(
      [key.alg, key.use, key.kty, key.crv, "d" in key, more],
      ["ES256", "sig", "EC", "P-256", false, []],
    );
    assert.match(key.kid ?? "", /^[0-9a-f]{16}$/);
    for (const issuer of [one, two, await openLocalIssuer(workDir, nowMs)]) {
      const options = { currentDate: new Date(nowMs()), audience: "istio-ca", issuer: localIssuerName };
      await jwtVerify(await issuer.mintToken(request), createLocalJWKSet(jwks), options);
    }
  });

  it("mints tokens with account, audience, pod and times", async () => {
    const issuer = await openLocalIssuer(workDir, nowMs);
    const claims = async (more: object) => {
      const token = await issuer.mintToken({ ...request, ...more });
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwksOf(workDir)), {
        currentDate: new Date(nowMs()),
      });
      assert.deepEqual([protectedHeader.alg, protectedHeader.typ], ["ES256", "JWT"]);
      return payload;
    };
    const account = { namespace: "shop", serviceaccount: { name: "web" } };
    const now = { iss: localIssuerName, sub: "system:serviceaccount:shop:web", iat: 1_700_000_000, nbf: 1_700_000_000 };
    assert.deepEqual(await claims({}), { "kubernetes.io": account, ...now, aud: ["istio-ca"], exp: 1_700_003_600 });
    const pod = { name: "web-1", uid: "u" };
    assert.deepEqual(await claims({ audience: "a", ttlMs: 1_001, pod }), {
      ...{ "kubernetes.io": { ...account, pod }, ...now, aud: ["a"], exp: 1_700_000_002 },
    });
  });

  it("mints none for names that no account has", async () => {
    const issuer = await openLocalIssuer(workDir, nowMs);
    assert.throws(() => issuer.mintToken({ namespace: "a/b", serviceAccount: "web" }), { code: /^AUTH_/ });
  });

  it("publishes its key again only where the file is another", async () => {
    const file = String(localIssuerRule(workDir).jwksFile);
    const text = readFileSync(file, "utf8");
    utimesSync(file, 1, 1);
    await openLocalIssuer(workDir);
    assert.equal(statSync(file).mtimeMs, 1_000);
    writeFileSync(file, "{}");
    await openLocalIssuer(workDir);
    assert.equal(readFileSync(file, "utf8"), text);
  });

  it("fails where what it published cannot be read", async () => {
    const broken = join(parent, "broken");
    mkdirSync(join(broken, "issuer", "jwks.json"), { recursive: true });
    await assert.rejects(openLocalIssuer(broken), { code: "EISDIR", syscall: "read" });
  });

  it("refuses a file with another key, or without one, and keeps it", async () => {
    const directory = join(parent, "other", "issuer");
    mkdirSync(directory, { recursive: true });
    const rsa = privateKeyPem(await generatePrivateKey("rsa-2048"));
    for (const [text, message] of [
      [rsa, /holds a key that is not of P-256; remove it/],
      ["no key", /holds no key; remove it/],
    ] as const) {
      writeFileSync(join(directory, "key.pem"), text);
      await assert.rejects(openLocalIssuer(join(parent, "other")), { code: "AUTH_BAD_ISSUER", message });
      assert.equal(readFileSync(join(directory, "key.pem"), "utf8"), text);
    }
  });
});
