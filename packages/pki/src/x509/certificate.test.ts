/** The parts of a certificate, one of them wrong at a time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DerReader } from "../der/reader.ts";
import { context, contextConstructed } from "../der/tags.ts";
import { bitString, element, integer, oid, sequence, smallInteger, time } from "../der/writer.ts";
import { generatePrivateKey, spkiOf } from "../keys.ts";
import {
  certificatePem,
  fingerprint,
  parseCertificate,
  parseCertificatePem,
  parseCertificatesPem,
} from "./certificate.ts";
import { issueLeaf, issueRoot, issuerOf, keyIdOf } from "./issue.ts";
import { encodeName } from "./name.ts";

const key = await generatePrivateKey("ecdsa-p256");
const name = encodeName({ commonName: "x" });
const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
const version = (number: number): Buffer => element(contextConstructed(0), smallInteger(number));
const validity = (...more: readonly Buffer[]): Buffer => sequence(time(1_000), time(2_000), ...more);

interface Parts {
  readonly head?: readonly Buffer[];
  readonly validity?: Buffer;
  readonly outer?: Buffer;
  readonly tail?: readonly Buffer[];
}

function encoded({ head = [version(2)], outer = algorithm, tail = [], ...parts }: Parts): Buffer {
  const inner = [integer(Buffer.of(7)), algorithm, name, parts.validity ?? validity(), name, spkiOf(key)];
  return sequence(sequence(...head, ...inner, ...tail), outer, bitString(Buffer.of(1)));
}

describe("a certificate", () => {
  for (const [what, parts] of [
    ["of version 3", {}],
    ["of version 1", { head: [] }],
    ["with identifiers of version 2", { tail: [element(context(1), Buffer.of(0)), element(context(2), Buffer.of(0))] }],
  ] as const)
    it(`${what} is read`, () => {
      const { notBeforeMs, notAfterMs, serial, sans, basicConstraints, keyUsage } = parseCertificate(encoded(parts));
      assert.deepEqual([notBeforeMs, notAfterMs, serial], [1_000, 2_000, "07"]);
      assert.deepEqual([sans, basicConstraints, keyUsage], [[], { isCa: false }, undefined]);
    });

  for (const [what, parts, message] of [
    ["of version 4", { head: [version(3)] }, /^\[PKI_BAD_CERTIFICATE\] version 4 is unknown/],
    ["with three times", { validity: validity(time(3_000)) }, /validity has .* too many/],
    ["with two algorithms", { outer: sequence(oid("1.2.840.10045.4.3.3")) }, /names two signature algorithms/],
    ["with more behind its extensions", { tail: [element(contextConstructed(3), sequence()), name] }, /too many/],
    ["with something else for extensions", { tail: [name] }, /where 0xa3 belongs/],
  ] as const)
    it(`${what} is refused`, () =>
      assert.throws(() => parseCertificate(encoded(parts)), { code: "PKI_BAD_CERTIFICATE", message }));

  it("with more behind its signature is refused", () => {
    const { body } = new DerReader(encoded({}), "the certificate").next(0x30);
    assert.throws(() => parseCertificate(sequence(body, name)), { code: "PKI_BAD_CERTIFICATE", message: /too many/ });
  });

  it("has the key that it is for", () => {
    const { publicKey } = parseCertificate(encoded({}));
    assert.deepEqual(publicKey.export({ type: "spki", format: "der" }), spkiOf(key));
  });

  it("names the key of its issuer", () => {
    const times = { notBeforeMs: 0, notAfterMs: 1_000 };
    const root = issueRoot({ serial: Buffer.of(1), subject: { commonName: "root" }, ...times }, key);
    const leaf = issueLeaf({ serial: Buffer.of(2), spki: spkiOf(key), sans: [], ...times }, issuerOf(root, key));
    const { authorityKeyId, subjectKeyId } = parseCertificate(leaf);
    assert.deepEqual([authorityKeyId, subjectKeyId], [keyIdOf(spkiOf(key)), undefined]);
    assert.deepEqual([root.authorityKeyId, root.subjectKeyId], [undefined, authorityKeyId]);
  });
});

describe("certificates in PEM", () => {
  const [a, b] = [parseCertificate(encoded({})), parseCertificate(encoded({ head: [] }))];
  it("are the first, or all of them", () => {
    const pem = certificatePem(a) + certificatePem(b);
    assert.deepEqual(parseCertificatePem(certificatePem(b)).der, b.der);
    assert.deepEqual(parseCertificatesPem(pem).map(fingerprint), [a, b].map(fingerprint));
    assert.notEqual(fingerprint(a), fingerprint(b));
  });
  for (const pem of ["", certificatePem(a).replaceAll("CERTIFICATE", "X509 CRL")])
    it(`are refused: ${JSON.stringify(pem.slice(0, 24))}`, () =>
      assert.throws(() => parseCertificatesPem(pem), { code: "PKI_BAD_PEM" }));
});
