import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { before, describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { createTestAuthority, type KeyPair, type TestAuthority } from "@flotilla/testkit";
import { type CheckedCredential, checkCredential } from "./credential-check.ts";

const base64 = (text: string) => Buffer.from(text, "latin1").toString("base64");
type Data = Readonly<Record<string, string>>;

function config(kind: string, data: unknown): Config {
  return {
    key: { kind, namespace: "shop", name: "pair" },
    labels: {},
    annotations: {},
    creationTimeMs: 0,
    spec: { data },
  };
}

describe("a credential", () => {
  const nowMs = Date.UTC(2026, 5, 1);
  let [authority, pair, other] = [undefined as unknown as TestAuthority, {} as KeyPair, {} as KeyPair];
  before(async () => {
    authority = await createTestAuthority(nowMs);
    [pair, other] = [await authority.keyPair(), await authority.keyPair()];
  });

  const checked = (data: Data, kind = "Secret"): CheckedCredential =>
    checkCredential(
      config(kind, Object.fromEntries(Object.entries(data).map(([name, text]) => [name, base64(text)]))),
      nowMs,
    );
  const tls = (more: Data = {}): Data => ({ "tls.crt": pair.certificatePem, "tls.key": pair.keyPem, ...more });

  it("with a key pair is good until its certificate ends", () => {
    const expiresMs = nowMs + 86_400_000;
    assert.deepEqual(checked(tls()), { expiresMs });
    assert.deepEqual(checked({ cert: pair.certificatePem, key: pair.keyPem }), { expiresMs });
    assert.deepEqual(checked(tls({ "tls.crt": pair.certificatePem + authority.rootPem })), { expiresMs });
  });

  it("of other contents, or empty, is no concern of proxies", () => {
    for (const data of [{}, { password: "x" }, { ".dockerconfigjson": "{}" }, { "tls.crt": "", "tls.key": "" }])
      assert.deepEqual(checked(data), {});
    assert.deepEqual(checkCredential(config("Secret", undefined), nowMs), {});
  });

  const broken: readonly (readonly [what: string, data: () => Data, field: string, reason: RegExp])[] = [
    [
      "another one's key",
      () => tls({ "tls.key": other.keyPem }),
      "tls.key",
      /is not the key of the certificate in tls\.crt/,
    ],
    ["a key that is none", () => tls({ "tls.key": "garbage" }), "tls.key", /no PEM block/],
    ["a key that was cut off", () => tls({ "tls.key": pair.keyPem.slice(0, 90) }), "tls.key", /no PEM block/],
    [
      "a key of other bytes",
      () => tls({ "tls.key": pair.keyPem.replace(/\n.{20}/, "\nAAAAAAAAAAAAAAAAAAAA") }),
      "tls.key",
      /./,
    ],
    [
      "an encrypted key",
      () => tls({ "tls.key": pair.keyPem.replaceAll("PRIVATE", "ENCRYPTED PRIVATE") }),
      "tls.key",
      /ENCRYPTED/,
    ],
    ["a key in place of the certificate", () => tls({ "tls.crt": pair.keyPem }), "tls.crt", /./],
    ["a certificate that is none", () => tls({ "tls.crt": "garbage" }), "tls.crt", /^no PEM block where a CERTIFICATE/],
    ["no key", () => ({ "tls.crt": pair.certificatePem }), "tls.key", /is missing beside tls\.crt/],
    ["no certificate", () => ({ key: pair.keyPem }), "cert", /is missing beside key/],
    ["roots that are none", () => tls({ "ca.crt": "garbage" }), "ca.crt", /^no PEM block/],
    [
      "revocations that are none",
      () => tls({ "ca.crt": authority.rootPem, "ca.crl": "garbage" }),
      "ca.crl",
      /^no PEM block where a/,
    ],
  ];
  for (const [what, data, field, reason] of broken)
    it(`with ${what} is refused, and its key is not in the reason`, () => {
      const { problem } = checked(data());
      assert.equal(problem?.field, `data[${field}]`);
      assert.match(problem.reason, reason);
      for (const secret of [pair, other])
        for (const line of secret.keyPem.split("\n").slice(1, -2)) assert.ok(!problem.reason.includes(line));
    });

  it("that has expired is refused with the time", async () => {
    const { certificatePem, keyPem } = await authority.keyPair({ notAfterMs: nowMs - 1000 });
    const { problem } = checked({ "tls.crt": certificatePem, "tls.key": keyPem });
    assert.deepEqual(problem, { field: "data[tls.crt]", reason: "its certificate expired on 2026-05-31T23:59:59Z" });
  });

  it("with a key that Envoy does not take is refused", () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const weak = String(privateKey.export({ format: "pem", type: "pkcs8" }));
    assert.match(checked(tls({ "tls.key": weak })).problem?.reason ?? "", /is not the key/);
  });

  for (const value of ["!", "AAA", 7, null, {}])
    it(`of ${JSON.stringify(value)} in place of base64 is refused`, () => {
      const found = checkCredential(config("Secret", { "tls.crt": value, "tls.key": "AAAA" }), nowMs);
      const reason = value === null ? "is missing beside tls.key" : "is not base64";
      assert.deepEqual(found.problem, { field: "data[tls.crt]", reason });
    });

  it("that is a ConfigMap holds roots as text", () => {
    const roots = (text: string) => checkCredential(config("ConfigMap", { "ca.crt": text }), nowMs);
    assert.deepEqual(roots(authority.rootPem), {});
    assert.equal(roots("garbage").problem?.field, "data[ca.crt]");
  });
});
