import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { type KeyObject, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import forge from "node-forge";
import { generatePrivateKey, type KeyAlgorithm, keyAlgorithms, spkiOf } from "../keys.ts";
import { parsePublicKeyInfo } from "../public-key-info.ts";
import { certificatePem, parseCertificate } from "./certificate.ts";
import { verifyChain } from "./chain.ts";
import { buildCsr, csrPem, parseCsrPem, verifyCsr } from "./csr.ts";
import { type Issuer, issueCa, issueLeaf, issueRoot, issuerOf, keyIdOf, leafValidity, renewRoot } from "./issue.ts";

const nowMs = Date.now();
const hourMs = 3_600_000;
const serial = Buffer.from("ffeeddccbbaa99887766554433221100", "hex");
const identity = "spiffe://cluster.local/ns/shop/sa/reviews";
const directory = mkdtempSync(join(tmpdir(), "pki-"));
after(() => rmSync(directory, { recursive: true }));

const keys = new Map<KeyAlgorithm, KeyObject>();
for (const algorithm of keyAlgorithms) keys.set(algorithm, await generatePrivateKey(algorithm));
const keyOf = (algorithm: KeyAlgorithm) => keys.get(algorithm) as KeyObject;

function rootOf(algorithm: KeyAlgorithm) {
  const subject = { organization: "cluster.local", commonName: "Root CA" };
  return issueRoot(
    { serial, subject, notBeforeMs: nowMs, notAfterMs: nowMs + 40 * 365 * 24 * hourMs },
    keyOf(algorithm),
  );
}

function file(name: string, text: string): string {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
}

describe("issued certificates", () => {
  for (const ca of ["rsa-2048", "rsa-4096", "ecdsa-p256", "ecdsa-p384"] as const) {
    for (const algorithm of keyAlgorithms) {
      it(`OpenSSL verifies ${algorithm} signed by ${ca}, over an intermediate`, () => {
        const root = rootOf(ca);
        const request = { serial: serial.subarray(4), subject: { organization: "mesh" }, pathLength: 0 };
        const times = { notBeforeMs: nowMs - 1000, notAfterMs: nowMs + 48 * hourMs };
        const middleDer = issueCa(
          { ...request, ...times, spki: spkiOf(keyOf("ecdsa-p256")) },
          issuerOf(root, keyOf(ca)),
        );
        const middle = parseCertificate(middleDer);
        const leaf = parseCertificate(
          issueLeaf(
            {
              serial,
              spki: spkiOf(keyOf(algorithm)),
              sans: [{ type: "uri", value: identity }],
              ...leafValidity(nowMs, hourMs, middle, 120_000),
            },
            issuerOf(middle, keyOf("ecdsa-p256")),
          ),
        );
        const files = [
          file("root.pem", certificatePem(root)),
          file("mid.pem", certificatePem(middle)),
          file("leaf.pem", certificatePem(leaf)),
        ];
        const output = execFileSync("openssl", [
          "verify",
          "-x509_strict",
          "-CAfile",
          ...files.slice(0, 1),
          "-untrusted",
          ...files.slice(1),
        ]);
        assert.match(String(output), /: OK/);
        assert.equal(verifyChain({ leaf, intermediates: [middle], roots: [root], nowMs }).length, 3);
        assert.equal(parsePublicKeyInfo(leaf.spki).name, algorithm);
      });
    }
  }

  it("Node and node-forge read the same names, times and serial", () => {
    const root = rootOf("rsa-2048");
    const sans = [
      { type: "uri", value: identity },
      { type: "dns", value: "istiod.istio-system.svc" },
      { type: "ip", value: "10.0.0.1" },
      { type: "ip", value: "2001:db8::1" },
    ] as const;
    const subject = { organization: "mesh", commonName: "reviews" };
    const times = { notBeforeMs: nowMs, notAfterMs: nowMs + hourMs };
    const der = issueLeaf(
      { serial, spki: spkiOf(keyOf("rsa-2048")), sans, subject, ...times },
      issuerOf(root, keyOf("rsa-2048")),
    );
    const pem = certificatePem({ der });
    const node = new X509Certificate(pem);
    assert.equal(node.serialNumber, serial.toString("hex").toUpperCase());
    assert.equal(
      node.subjectAltName,
      `URI:${identity}, DNS:istiod.istio-system.svc, IP Address:10.0.0.1, IP Address:2001:DB8:0:0:0:0:0:1`,
    );
    assert.equal(node.ca, false);
    const forged = forge.pki.certificateFromPem(pem);
    assert.equal(forged.subject.getField("CN").value, "reviews");
    assert.equal(forged.validity.notAfter.getTime(), Math.floor((nowMs + hourMs) / 1000) * 1000);
    assert.equal(forge.pki.certificateFromPem(certificatePem(root)).verify(forged), true);
    const own = parseCertificate(der);
    assert.deepEqual(own.sans, sans);
    assert.deepEqual([own.serial, own.subject, own.issuer.commonName], [serial.toString("hex"), subject, "Root CA"]);
  });

  it("the SAN is critical exactly when there is no subject", () => {
    const root = rootOf("ecdsa-p256");
    const critical = (subject: { commonName?: string }) =>
      parseCertificate(
        issueLeaf(
          { serial, spki: root.spki, sans: [{ type: "uri", value: identity }], subject, notBeforeMs: 0, notAfterMs: 1 },
          issuerOf(root, keyOf("ecdsa-p256")),
        ),
      ).extensions.find(({ id }) => id === "2.5.29.17")?.critical;
    assert.deepEqual([critical({}), critical({ commonName: "x" })], [true, false]);
  });

  const [server, client] = ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"];
  const leafUsages = ["digitalSignature", "keyEncipherment"];
  const caUsages = ["keyCertSign", "cRLSign"];
  const ca = rootOf("ecdsa-p256");
  const issuer = issuerOf(ca, keyOf("ecdsa-p256"));
  const asked = { serial, sans: [], subject: { commonName: "x" }, notBeforeMs: 0, notAfterMs: 1_000, spki: ca.spki };
  for (const { name, issue, carries } of [
    {
      name: "a leaf",
      issue: issueLeaf,
      carries: { basicConstraints: { isCa: false }, keyUsage: leafUsages, extKeyUsage: [server, client] },
    },
    {
      name: "a leaf for servers",
      issue: (request: typeof asked, by: Issuer) => issueLeaf({ ...request, usages: ["server"] }, by),
      carries: { basicConstraints: { isCa: false }, keyUsage: leafUsages, extKeyUsage: [server] },
    },
    {
      name: "a leaf of no extended usage",
      issue: (request: typeof asked, by: Issuer) => issueLeaf({ ...request, usages: [] }, by),
      carries: { basicConstraints: { isCa: false }, keyUsage: leafUsages, extKeyUsage: undefined },
    },
    {
      name: "a CA",
      issue: issueCa,
      carries: { basicConstraints: { isCa: true }, keyUsage: caUsages, extKeyUsage: undefined },
    },
    {
      name: "a CA with all its choices",
      issue: (request: typeof asked, by: Issuer) =>
        issueCa({ ...request, pathLength: 0, keyUsages: ["keyCertSign"], usages: ["client"] }, by),
      carries: { basicConstraints: { isCa: true, pathLength: 0 }, keyUsage: ["keyCertSign"], extKeyUsage: [client] },
    },
  ])
    it(`of ${name} carry its usages and the identifiers of both keys`, () => {
      const { basicConstraints, keyUsage, extKeyUsage, ...found } = parseCertificate(issue(asked, issuer));
      assert.deepEqual({ basicConstraints, keyUsage, extKeyUsage }, carries);
      assert.deepEqual([found.sans, found.authorityKeyId], [[], ca.subjectKeyId]);
      assert.deepEqual(found.subjectKeyId, basicConstraints.isCa ? keyIdOf(ca.spki) : undefined);
    });

  it("have no serial of zero", () => {
    const zero = parseCertificate(issueLeaf({ ...asked, serial: Buffer.alloc(16) }, issuer));
    assert.equal(zero.serial, "01");
  });

  it("a leaf does not outlive its issuer", () => {
    const issuer = { notBeforeMs: 0, notAfterMs: 5000 };
    assert.deepEqual(leafValidity(1000, 9000, issuer, 200), { notBeforeMs: 800, notAfterMs: 5000 });
    assert.deepEqual(leafValidity(1000, 900, issuer, 200), { notBeforeMs: 800, notAfterMs: 1900 });
  });

  for (const bad of ["", "spiffe://\u00fc", "a\0b"]) {
    it(`refuses the name ${JSON.stringify(bad)}`, () => {
      const root = rootOf("ecdsa-p256");
      const request = {
        serial,
        spki: root.spki,
        sans: [{ type: "dns", value: bad } as const],
        notBeforeMs: 0,
        notAfterMs: 1,
      };
      assert.throws(() => issueLeaf(request, issuerOf(root, keyOf("ecdsa-p256"))), { code: "PKI_BAD_SAN" });
    });
  }
});

describe("requests", () => {
  for (const algorithm of keyAlgorithms) {
    it(`OpenSSL takes a request of ${algorithm}, and its own is taken here`, () => {
      const key = keyOf(algorithm);
      const ours = file("ours.csr", csrPem(buildCsr({ key, sans: [{ type: "uri", value: identity }] })));
      execFileSync("openssl", ["req", "-verify", "-noout", "-in", ours], { stdio: "pipe" });
      const keyFile = file("key.pem", String(key.export({ format: "pem", type: "pkcs8" })));
      const args = [
        "req",
        "-new",
        "-key",
        keyFile,
        "-subj",
        "/O=",
        "-batch",
        "-addext",
        `subjectAltName=URI:${identity}`,
      ];
      const theirs = parseCsrPem(String(execFileSync("openssl", args, { stdio: "pipe" })));
      verifyCsr(theirs);
      assert.deepEqual(theirs.sans, [{ type: "uri", value: identity }]);
      assert.ok(theirs.spki.equals(spkiOf(key)));
    });
  }
});

describe("a renewed root", () => {
  it("has the key, the name and the usages of the root, and verifies what it signed", () => {
    const root = rootOf("ecdsa-p256");
    const key = keyOf("ecdsa-p256");
    const times = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 2 * hourMs };
    const renewed = renewRoot(root, key, { ...times, serial: Buffer.of(7) });
    assert.deepEqual([renewed.spki, renewed.subject, renewed.keyUsage], [root.spki, root.subject, root.keyUsage]);
    assert.equal(renewed.notAfterMs, Math.floor(times.notAfterMs / 1_000) * 1_000);
    const leaf = issueLeaf(
      { serial, spki: spkiOf(keyOf("ecdsa-p256")), sans: [{ type: "uri", value: identity }], ...times },
      issuerOf(root, key),
    );
    const path = verifyChain({ leaf: parseCertificate(leaf), intermediates: [], roots: [renewed], nowMs });
    assert.equal(path.at(-1)?.serial, renewed.serial);
  });
});
