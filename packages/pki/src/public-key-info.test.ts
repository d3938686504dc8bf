/** Public keys, read from their bytes: those that OpenSSL does not write. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bitString, derNull, element, integer, oid, sequence } from "./der/writer.ts";
import { oids } from "./oids.ts";
import { checkKeyPolicy, parsePublicKeyInfo } from "./public-key-info.ts";

const modulusOf = (bits: number): Buffer => {
  const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff);
  bytes[0] = 0xff >> ((8 - (bits % 8)) % 8);
  return bytes;
};
const exponentOf = (value: number): Buffer => {
  const bytes = Buffer.alloc(5);
  bytes.writeUIntBE(value, 0, 5);
  return integer(bytes);
};

function rsaKey(numbers: readonly Buffer[], parameters: readonly Buffer[] = [derNull]): Buffer {
  return sequence(sequence(oid(oids.rsaEncryption), ...parameters), bitString(sequence(...numbers)));
}
const rsa = (bits: number, exponent: number): Buffer => rsaKey([integer(modulusOf(bits)), exponentOf(exponent)]);

describe("RSA keys", () => {
  for (const [bits, exponent, code] of [
    [2047, 65_537, "PKI_WEAK_KEY"],
    [2048, 65_537, undefined],
    [8192, 65_537, undefined],
    [8193, 65_537, "PKI_UNSUPPORTED_ALGORITHM"],
    [2048, 1, "PKI_WEAK_KEY"],
    [2048, 2, "PKI_WEAK_KEY"],
    [2048, 3, undefined],
    [2048, 4, "PKI_WEAK_KEY"],
    [2048, 0xffff_ffff, undefined],
    [2048, 0x1_0000_0001, "PKI_WEAK_KEY"],
  ] as const)
    it(`of ${bits} bits with the exponent ${exponent} are ${code ?? "taken"}`, () => {
      const info = parsePublicKeyInfo(rsa(bits, exponent));
      // Of more than four bytes an exponent is as good as infinite.
      const shown = exponent > 0xffff_ffff ? Number.POSITIVE_INFINITY : exponent;
      assert.deepEqual(info, { family: "rsa", name: `rsa-${bits}`, rsa: { bits, exponent: shown } });
      if (code === undefined) checkKeyPolicy(info);
      else assert.throws(() => checkKeyPolicy(info), { code });
    });

  const numbers = [integer(modulusOf(2048)), exponentOf(3)];
  it("may have no parameters", () => assert.equal(parsePublicKeyInfo(rsaKey(numbers, [])).name, "rsa-2048"));
  for (const [what, key] of [
    ["a third number", rsaKey([...numbers, exponentOf(3)])],
    ["a negative number", rsaKey([element(2, Buffer.of(0x80)), exponentOf(3)])],
    ["a zero", rsaKey([integer(modulusOf(2048)), integer(Buffer.of(0))])],
    ["a NULL with contents", rsaKey(numbers, [element(5, Buffer.of(0))])],
    ["two parameters", rsaKey(numbers, [derNull, derNull])],
    ["more behind the key", Buffer.concat([rsaKey(numbers), derNull])],
  ] as const)
    it(`with ${what} are refused`, () => assert.throws(() => parsePublicKeyInfo(key), { code: "PKI_BAD_DER" }));
});

describe("keys of curves", () => {
  const point = bitString(Buffer.of(4));
  it("name their curve, and nothing else", () => {
    const algorithm = [oid(oids.ecPublicKey), oid(oids.p256)];
    assert.equal(parsePublicKeyInfo(sequence(sequence(...algorithm), point)).name, "ecdsa-p256");
    assert.throws(() => parsePublicKeyInfo(sequence(sequence(...algorithm, derNull), point)), { code: "PKI_BAD_DER" });
    assert.throws(() => parsePublicKeyInfo(sequence(sequence(...algorithm), point, derNull)), { code: "PKI_BAD_DER" });
  });
});
