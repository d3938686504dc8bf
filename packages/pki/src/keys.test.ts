import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import { generatePrivateKey, isSameKey, parsePrivateKey, privateKeyPem, spkiOf } from "./keys.ts";
import { encodePem, parsePem } from "./pem.ts";
import { checkKeyPolicy, parsePublicKeyInfo } from "./public-key-info.ts";
import { buildCsr, parseCsr, parseCsrPem, verifyCsr } from "./x509/csr.ts";

const rsa = await generatePrivateKey("rsa-2048");
const ec = await generatePrivateKey("ecdsa-p256");
const rsaOf = (bits: number, publicExponent = 65_537) =>
  generateKeyPairSync("rsa", { modulusLength: bits, publicExponent }).publicKey;
const ecOf = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).publicKey;

describe("key policy", () => {
  const cases: readonly (readonly [string, KeyObject, string | undefined])[] = [
    ["RSA 2048", createPublicKey(rsa), undefined],
    ["P-256", createPublicKey(ec), undefined],
    ["RSA 2048 with exponent 3", rsaOf(2048, 3), undefined],
    ["RSA 1024", rsaOf(1024), "PKI_WEAK_KEY"],
    ["P-521", ecOf("P-521"), "PKI_UNSUPPORTED_ALGORITHM"],
    ["secp256k1", ecOf("secp256k1"), "PKI_UNSUPPORTED_ALGORITHM"],
    ["Ed25519", generateKeyPairSync("ed25519").publicKey, "PKI_UNSUPPORTED_ALGORITHM"],
    ["RSA-PSS", generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey, "PKI_UNSUPPORTED_ALGORITHM"],
  ];
  for (const [name, key, code] of cases) {
    it(`${name} is ${code === undefined ? "taken" : "refused"}`, () => {
      const check = () => checkKeyPolicy(parsePublicKeyInfo(spkiOf(key)));
      if (code === undefined) check();
      else assert.throws(check, { code });
    });
  }
});

describe("public keys", () => {
  const explicit = generateKeyPairSync("ec", { namedCurve: "P-256", paramEncoding: "explicit" }).publicKey;
  const cases: readonly (readonly [KeyObject, string])[] = [
    [createPublicKey(rsa), "rsa-2048"],
    [rsaOf(1031), "rsa-1031"],
    [createPublicKey(ec), "ecdsa-p256"],
    [ecOf("P-384"), "ecdsa-p384"],
    [ecOf("P-521"), "ecdsa 1.3.132.0.35"],
    [explicit, "ecdsa explicit curve"],
    [generateKeyPairSync("ed25519").publicKey, "1.3.101.112"],
  ];
  for (const [key, name] of cases) {
    it(`are named: ${name}`, () => assert.equal(parsePublicKeyInfo(spkiOf(key)).name, name));
  }
});

describe("private keys", () => {
  for (const type of ["pkcs1", "pkcs8", "sec1"] as const) {
    it(`${type} is read`, () => {
      const key = type === "sec1" ? ec : rsa;
      assert.ok(isSameKey(parsePrivateKey(String(key.export({ format: "pem", type }))), key));
    });
  }

  it("the curve's own block before an EC key is skipped", () => {
    const sec1 = String(ec.export({ format: "pem", type: "sec1" }));
    assert.ok(isSameKey(parsePrivateKey(`${encodePem("EC PARAMETERS", Buffer.of(6, 0))}${sec1}`), ec));
  });

  const refused: readonly (readonly [string, string, string])[] = [
    ["no PEM", "key", "PKI_BAD_PEM"],
    ["a certificate", encodePem("CERTIFICATE", Buffer.alloc(3)), "PKI_BAD_PEM"],
    ["an empty block", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n", "PKI_BAD_KEY"],
    ["bytes that are no key", encodePem("RSA PRIVATE KEY", Buffer.alloc(9)), "PKI_BAD_KEY"],
    ["an encrypted key", encodePem("ENCRYPTED PRIVATE KEY", Buffer.alloc(9)), "PKI_BAD_PEM"],
  ];
  for (const [name, pem, code] of refused) {
    it(`${name} is refused`, () => assert.throws(() => parsePrivateKey(pem), { code }));
  }

  it("an error reveals nothing of the key", () => {
    const pem = privateKeyPem(rsa).replace("MIIE", "MIIF");
    assert.throws(
      () => parsePrivateKey(pem),
      (error: Error) => error.cause === undefined && !error.message.includes("MII"),
    );
  });
});

describe("PEM", () => {
  it("finds all blocks between any text, with either line end", () => {
    const text = `# first\r\n${encodePem("A", Buffer.of(1)).replaceAll("\n", "\r\n")}\nsecond${encodePem("B", Buffer.alloc(100, 2))}`;
    assert.deepEqual(
      parsePem(text).map(({ label, der }) => [label, der.length]),
      [
        ["A", 1],
        ["B", 100],
      ],
    );
  });
  it("refuses what is not base64", () =>
    assert.throws(() => parsePem("-----BEGIN A-----\n!!!!\n-----END A-----"), { code: "PKI_BAD_PEM" }));
});

describe("requests that are refused", () => {
  const good = buildCsr({ key: ec, sans: [{ type: "uri", value: "spiffe://a/ns/b/sa/c" }] });
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(good);
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  };
  const cases: readonly (readonly [string, Buffer, string])[] = [
    ["nothing", Buffer.alloc(0), "PKI_BAD_CSR"],
    ["cut off", good.subarray(0, -1), "PKI_BAD_CSR"],
    ["with bytes after it", Buffer.concat([good, Buffer.of(0)]), "PKI_BAD_CSR"],
    ["with another name than was signed", flipped(good.indexOf("spiffe") + 9), "PKI_BAD_SIGNATURE"],
    ["with a broken signature", flipped(good.length - 1), "PKI_BAD_SIGNATURE"],
    ["with a weak key", buildCsr({ key: weak }), "PKI_WEAK_KEY"],
  ];
  for (const [name, der, code] of cases) {
    it(name, () => assert.throws(() => verifyCsr(parseCsr(der)), { code }));
  }

  it("a certificate in place of a request", () =>
    assert.throws(() => parseCsrPem(encodePem("CERTIFICATE", good)), { code: "PKI_BAD_PEM" }));

  it("whatever byte is changed: refused with a code of ours, or the signature still holds", () => {
    for (let at = 0; at < good.length; at++) {
      for (const value of [0x00, 0x30, 0x80, 0xff]) {
        const copy = Buffer.from(good);
        if (copy[at] === value) continue;
        copy[at] = value;
        assert.throws(
          () => verifyCsr(parseCsr(copy)),
          (error: Error & { code?: string }) => /^PKI_/.test(error.code ?? ""),
          `byte ${at} set to ${value}`,
        );
      }
    }
  });
});
