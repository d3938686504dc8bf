/** Revocation lists as OpenSSL writes them, and broken ones. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { contextConstructed } from "../der/tags.ts";
import { bitString, element, integer, oid, sequence, smallInteger, time } from "../der/writer.ts";
import { generatePrivateKey, privateKeyPem, signatureAlgorithmOf, signBytes } from "../keys.ts";
import { parseOnePem } from "../pem.ts";
import { certificatePem, parseCertificatesPem } from "./certificate.ts";
import { isRevoked, parseCrl, parseCrlsPem, verifyCrl } from "./crl.ts";
import { encodeExtension } from "./extensions.ts";
import { issueRoot } from "./issue.ts";

const directory = mkdtempSync(join(tmpdir(), "crl-"));
after(() => rmSync(directory, { recursive: true }));
const file = (name: string): string => join(directory, name);
const times = { notBeforeMs: Date.now() - 1000, notAfterMs: Date.now() + 86_400_000 };
const [key, otherKey] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
const root = issueRoot({ serial: Buffer.alloc(16, 1), subject: { organization: "root" }, ...times }, key);
const other = issueRoot({ serial: Buffer.alloc(16, 2), subject: { organization: "root" }, ...times }, otherKey);

/** By `openssl ca -gencrl`. */
function crlOf(...serials: readonly string[]): string {
  const entries = serials.map((serial) => `R\t301231235959Z\t260101000000Z,keyCompromise\t${serial}\tunknown\t/O=x\n`);
  writeFileSync(file("index"), entries.join(""));
  writeFileSync(file("number"), "01\n");
  writeFileSync(file("key"), privateKeyPem(key));
  writeFileSync(file("cert"), certificatePem(root));
  const lines = [`database = ${file("index")}`, `crlnumber = ${file("number")}`, "default_md = sha256"];
  writeFileSync(
    file("conf"),
    `[ca]\ndefault_ca = d\n[d]\n${lines.join("\n")}\ndefault_crl_days = 30\ncrl_extensions = e\n[e]\nauthorityKeyIdentifier = keyid\n`,
  );
  const args = [
    "ca",
    "-config",
    file("conf"),
    "-gencrl",
    "-keyfile",
    file("key"),
    "-cert",
    file("cert"),
    "-out",
    file("crl"),
  ];
  execFileSync("openssl", args, { stdio: "pipe" });
  return readFileSync(file("crl"), "utf8");
}

describe("revocation lists", () => {
  it("report which serials of their issuer are taken back", () => {
    const [crl] = parseCrlsPem(crlOf("0A0B", "00FF", "01"));
    assert.ok(crl !== undefined);
    verifyCrl(crl, [other, root]);
    assert.ok((crl.nextUpdateMs ?? 0) > crl.thisUpdateMs);
    const { subjectDer: issuerDer } = root;
    for (const serial of ["0a0b", "ff", "01"]) assert.ok(isRevoked({ serial, issuerDer }, [crl]), serial);
    assert.equal(isRevoked({ serial: "02", issuerDer }, [crl]), false);
    assert.equal(isRevoked({ serial: "ff", issuerDer: Buffer.from("30", "hex") }, [crl]), false);
  });

  it("may be empty", () => assert.equal(parseCrlsPem(crlOf())[0]?.revoked.size, 0));

  it("are refused unless a CA of that name has signed them", () => {
    const [crl] = parseCrlsPem(crlOf("01"));
    assert.ok(crl !== undefined);
    assert.throws(() => verifyCrl(crl, [other]), { code: "PKI_UNTRUSTED" });
    assert.throws(() => verifyCrl(crl, []), { code: "PKI_UNTRUSTED" });
    assert.throws(() => verifyCrl({ ...crl, tbs: Buffer.from([...crl.tbs.subarray(1), 0]) }, [root]), {
      code: "PKI_UNTRUSTED",
    });
  });

  it("broken ones are refused with a reason, whatever the bytes", () => {
    assert.throws(() => parseCrlsPem("x"), { code: "PKI_BAD_PEM" });
    assert.throws(() => parseCrlsPem(certificatePem(root)), { code: "PKI_BAD_PEM" });
    assert.equal(parseCertificatesPem(certificatePem(root)).length, 1);
    const { der } = parseOnePem(crlOf("01", "02"), ["X509 CRL"]);
    for (let at = 0; at < der.length; at++) {
      const broken = Buffer.from(der);
      broken[at] = (broken[at] ?? 0) ^ 0xff;
      try {
        verifyCrl(parseCrl(broken), [root]);
        assert.fail(`byte ${at} makes no difference`);
      } catch (error) {
        assert.match(String((error as { code?: unknown }).code), /^PKI_/, `byte ${at}: ${error}`);
      }
      assert.throws(() => parseCrl(der.subarray(0, at)), { code: "PKI_BAD_CRL" });
    }
  });
});

describe("the parts of a revocation list", () => {
  const unknown = (critical: boolean) =>
    sequence(encodeExtension({ id: "2.5.29.27", critical, value: Buffer.of(5, 0) }));
  const known = sequence(encodeExtension({ id: "2.5.29.21", critical: true, value: Buffer.of(10, 1, 1) }));
  const entry = (...extensions: readonly Buffer[]) => sequence(integer(Buffer.of(7)), time(0), ...extensions);
  const extensionsOf = (list: Buffer) => element(contextConstructed(0), list);
  const algorithm = signatureAlgorithmOf(key);
  const [version, thisUpdate, nextUpdate] = [smallInteger(1), time(1_000_000), time(2_000_000)];

  /** In the order of RFC 5280, 5.1. */
  function signed(...parts: readonly Buffer[]): Buffer {
    const tbs = sequence(...parts);
    return sequence(tbs, algorithm, bitString(signBytes(tbs, key)));
  }
  const head = [version, algorithm, root.subjectDer, thisUpdate];

  const good: readonly (readonly [string, Buffer, readonly string[], number?])[] = [
    ["entries", signed(...head, nextUpdate, sequence(entry(), entry(known))), ["07"], 2_000_000],
    ["no next update", signed(...head, sequence(entry())), ["07"]],
    ["a next update after 2050", signed(...head, time(Date.UTC(2051, 0)), sequence()), [], Date.UTC(2051, 0)],
    ["no entries", signed(...head, nextUpdate), [], 2_000_000],
    ["the first version", signed(...head.slice(1), nextUpdate), [], 2_000_000],
    ["an unknown extension that is not critical", signed(...head, sequence(entry(unknown(false)))), ["07"]],
    ["extensions", signed(...head, nextUpdate, extensionsOf(known)), [], 2_000_000],
  ];
  for (const [name, der, serials, nextUpdateMs] of good)
    it(`are read: ${name}`, () => {
      const crl = parseCrl(der);
      verifyCrl(crl, [root]);
      assert.deepEqual([[...crl.revoked], crl.thisUpdateMs, crl.nextUpdateMs], [serials, 1_000_000, nextUpdateMs]);
    });

  const otherAlgorithm = sequence(oid("1.2.840.10045.4.3.3"));
  const bad: readonly (readonly [string, Buffer, RegExp])[] = [
    ["another version", signed(smallInteger(0), ...head.slice(1)), /^\[PKI_BAD_CRL\] its version is unknown/],
    [
      "two algorithms",
      signed(version, otherAlgorithm, ...head.slice(2)),
      /^\[PKI_BAD_CRL\] it names two signature algorithms/,
    ],
    ["an unknown critical extension", signed(...head, extensionsOf(unknown(true))), /critical extension 2\.5\.29\.27/],
    ["an entry with such a one", signed(...head, sequence(entry(unknown(true)))), /critical extension 2\.5\.29\.27/],
    ["more behind it", signed(...head, extensionsOf(known), nextUpdate), /malformed: .* too many/],
  ];
  for (const [name, der, message] of bad)
    it(`are refused: ${name}`, () => assert.throws(() => parseCrl(der), { code: "PKI_BAD_CRL", message }));

  it("are signed by a CA that may sign lists", () => {
    const crl = parseCrl(signed(...head));
    const request = { serial: Buffer.of(1), subject: { organization: "root" }, ...times };
    assert.throws(() => verifyCrl(crl, [issueRoot({ ...request, keyUsages: ["keyCertSign"] }, key)]), {
      code: "PKI_UNTRUSTED",
    });
    const { keyUsage: _, ...anyUse } = root;
    verifyCrl(crl, [anyUse]);
    assert.throws(() => verifyCrl(crl, [{ ...root, subjectDer: Buffer.of(0x30, 0) }]), { code: "PKI_UNTRUSTED" });
  });
});
