import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCsr,
  certificatePem,
  csrPem,
  generatePrivateKey,
  issueRoot,
  parseCertificatePem,
  privateKeyPem,
  spkiOf,
} from "@flotilla/pki";
import { readMaterial, type SigningMaterial } from "../roots/material.ts";
import { issueWorkload, ttlOf } from "./issue-workload.ts";

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";
const serial = Buffer.alloc(16, 9);
const caKey = await generatePrivateKey("ecdsa-p256");
const key = await generatePrivateKey("ecdsa-p256");

function materialOf(notAfterMs: number): SigningMaterial {
  const root = issueRoot({ serial, subject: { organization: "x" }, notBeforeMs: nowMs - hourMs, notAfterMs }, caKey);
  const pem = certificatePem(root);
  return readMaterial(
    { certificatePem: pem, keyPem: privateKeyPem(caKey), rootsPem: pem, origin: "self-signed" },
    [],
    nowMs,
  );
}
const material = materialOf(nowMs + 100 * hourMs);

function issue(csr: string, more: object = {}, by = material) {
  return issueWorkload({ csrPem: csr, identity, namesFor: () => [], ttlMs: hourMs, nowMs, serial, ...more }, by);
}

describe("issuing", () => {
  it("the identity comes from the caller, the key from the request", () => {
    const sans = [
      { type: "uri", value: "spiffe://cluster.local/ns/kube-system/sa/admin" },
      { type: "dns", value: "evil.test" },
    ] as const;
    const { chain, notAfterMs } = issue(csrPem(buildCsr({ key, sans, subject: { commonName: "admin" } })));
    const leaf = parseCertificatePem(chain[0] ?? "");
    assert.deepEqual(leaf.sans, [{ type: "uri", value: identity }]);
    assert.deepEqual(leaf.subject, {});
    assert.ok(leaf.spki.equals(spkiOf(key)));
    assert.deepEqual(
      [leaf.notBeforeMs, leaf.notAfterMs, notAfterMs],
      [nowMs - 120_000, nowMs + hourMs, nowMs + hourMs],
    );
    assert.equal(leaf.serial, serial.toString("hex"));
    assert.deepEqual(chain.slice(1), [material.rootsPem]);
  });

  it("it ends with the signing certificate at the latest", () =>
    assert.equal(issue(csrPem(buildCsr({ key })), { ttlMs: 9e12 }).notAfterMs, material.certificate.notAfterMs));

  it("an expired signing certificate signs nothing", () => {
    const csrText = csrPem(buildCsr({ key }));
    assert.throws(() => issue(csrText, { nowMs: material.certificate.notAfterMs }), { code: "CA_NOT_READY" });
  });

  const csr = csrPem(buildCsr({ key }));
  const refused: readonly (readonly [string, string])[] = [
    ["no PEM", "hello"],
    ["an empty text", ""],
    ["a certificate", material.rootsPem],
    ["a PEM that is not base64", csr.replace("MI", "M!")],
    ["a PEM that is cut off", csr.slice(0, 200)],
    ["one that is too large", csr + " ".repeat(20_000)],
  ];
  for (const [name, text] of refused) {
    it(`refuses ${name}`, () => assert.throws(() => issue(text), { code: "CA_BAD_CSR" }));
  }
});

describe("time to live", () => {
  const rules = { defaultTtlMs: 24 * hourMs, maxTtlMs: 2160 * hourMs };
  const cases: readonly (readonly [bigint, number | RegExp])[] = [
    [0n, 24 * hourMs],
    [-5n, 24 * hourMs],
    [1n, 1000],
    [7_776_000n, 2160 * hourMs],
    [7_776_001n, /requested TTL 2160h0m1s is greater than the max allowed TTL 2160h0m0s/],
    [9_223_372_036_854_775_807n, /greater than the max/],
  ];
  for (const [seconds, expected] of cases) {
    it(`${seconds} s`, () => {
      if (typeof expected === "number") assert.equal(ttlOf(seconds, rules), expected);
      else assert.throws(() => ttlOf(seconds, rules), expected);
    });
  }
});
