/** Parts of a request beside its names: parameters of its signature algorithm, which no signature covers, and attributes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DerReader } from "../der/reader.ts";
import { bitString, element, oid, sequence, setOf, smallInteger } from "../der/writer.ts";
import { generatePrivateKey, type KeyAlgorithm, signBytes } from "../keys.ts";
import { buildCsr, parseCsr, verifyCsr } from "./csr.ts";
import type { Name } from "./name.ts";

const algorithms = { "rsa-2048": "1.2.840.113549.1.1.11", "ecdsa-p256": "1.2.840.10045.4.3.2" } as const;
const nothing = element(0x05);
const ownKey = await generatePrivateKey("ecdsa-p256");
const cases: readonly (readonly [keyof typeof algorithms, string, readonly Buffer[], boolean])[] = [
  ["rsa-2048", "NULL", [nothing], true],
  ["rsa-2048", "no", [], true],
  ["rsa-2048", "two", [nothing, nothing], false],
  ["rsa-2048", "a NULL with contents as", [element(0x05, Buffer.of(1))], false],
  ["rsa-2048", "a text as", [element(0x0c, Buffer.of(65))], false],
  ["ecdsa-p256", "no", [], true],
  ["ecdsa-p256", "NULL", [nothing], false],
  ["ecdsa-p256", "an integer as", [element(0x02, Buffer.of(1))], false],
];

describe("the signature algorithm of a request", () => {
  for (const [kind, what, parameters, isGood] of cases) {
    it(`${kind} with ${what} parameters is ${isGood ? "taken" : "refused"}`, async () => {
      const key = await generatePrivateKey(kind satisfies KeyAlgorithm);
      const { tbs } = parseCsr(buildCsr({ key }));
      const algorithm = sequence(oid(algorithms[kind]), ...parameters);
      const request = sequence(tbs, algorithm, bitString(signBytes(tbs, key)));
      if (isGood) verifyCsr(parseCsr(request));
      else assert.throws(() => parseCsr(request), { code: "PKI_BAD_CSR" });
    });
  }
});

describe("a request", () => {
  const sans = [{ type: "dns", value: "a.test" }] as const;
  const isCritical = (subject: Name) => parseCsr(buildCsr({ key: ownKey, subject, sans })).extensions[0]?.critical;

  it("marks its names as critical where its subject is empty (RFC 5280, 4.1.2.6)", () => {
    assert.equal(isCritical({}), true);
    assert.equal(isCritical({ organization: "o" }), false);
    assert.equal(isCritical({ commonName: "c" }), false);
  });
  it("whose algorithm is for another kind of key is refused, although its signature holds", () => {
    const { tbs } = parseCsr(buildCsr({ key: ownKey }));
    const algorithm = sequence(oid(algorithms["rsa-2048"]), nothing);
    const request = parseCsr(sequence(tbs, algorithm, bitString(signBytes(tbs, ownKey))));
    assert.throws(() => verifyCsr(request), { code: "PKI_BAD_SIGNATURE" });
  });
  it("of an unknown algorithm is read, and does not hold", () => {
    const { tbs } = parseCsr(buildCsr({ key: ownKey }));
    const request = parseCsr(sequence(tbs, sequence(oid("1.2.3.4")), bitString(signBytes(tbs, ownKey))));
    assert.equal(request.signatureAlgorithm, "1.2.3.4");
    assert.throws(() => verifyCsr(request), { code: "PKI_UNSUPPORTED_ALGORITHM" });
  });
  it("of another version is refused", () => {
    const info = new DerReader(parseCsr(buildCsr({ key: ownKey })).tbs, "the request").enter(0x30);
    info.next(0x02);
    const rest = [info.next(0x30).raw, info.next(0x30).raw, info.next(0xa0).raw];
    const tbs = sequence(smallInteger(1), ...rest);
    const request = sequence(tbs, sequence(oid(algorithms["ecdsa-p256"])), bitString(signBytes(tbs, ownKey)));
    assert.throws(() => parseCsr(request), { code: "PKI_BAD_CSR", message: /version 2 is unknown/ });
  });
  it("with a name that has more than a type and a value is refused", () => {
    const info = new DerReader(parseCsr(buildCsr({ key: ownKey })).tbs, "the request").enter(0x30);
    const [version] = [info.next(0x02).raw, info.next(0x30)];
    const rest = [info.next(0x30).raw, info.next(0xa0).raw];
    const attribute = sequence(oid("2.5.4.3"), element(0x0c, Buffer.from("c")), element(0x0c, Buffer.from("d")));
    const tbs = sequence(version, sequence(setOf(attribute)), ...rest);
    const request = sequence(tbs, sequence(oid(algorithms["ecdsa-p256"])), bitString(signBytes(tbs, ownKey)));
    assert.throws(() => parseCsr(request), { code: "PKI_BAD_CSR" });
  });
});

describe("the attributes of a request", () => {
  const challenge = sequence(oid("1.2.840.113549.1.9.7"), setOf(element(0x0c, Buffer.from("secret"))));

  /** The request of `buildCsr` with these attributes in place of its own. */
  async function requestWith(attributesOf: (own: Buffer) => readonly Buffer[]) {
    const key = await generatePrivateKey("ecdsa-p256");
    const sans = [{ type: "dns", value: "a.test" }] as const;
    const info = new DerReader(parseCsr(buildCsr({ key, sans })).tbs, "the request").enter(0x30);
    const parts = [info.next(0x02).raw, info.next(0x30).raw, info.next(0x30).raw];
    const own = info.next(0xa0).body;
    const tbs = sequence(...parts, element(0xa0, ...attributesOf(own)));
    return sequence(tbs, sequence(oid(algorithms["ecdsa-p256"])), bitString(signBytes(tbs, key)));
  }

  it("may be others than extensions, which are passed over", async () => {
    for (const attributes of [(own: Buffer) => [challenge, own], (own: Buffer) => [own, challenge]]) {
      const { sans, extensions } = parseCsr(await requestWith(attributes));
      assert.deepEqual([sans, extensions.length], [[{ type: "dns", value: "a.test" }], 1]);
    }
    const { sans, extensions } = parseCsr(await requestWith(() => [challenge]));
    assert.deepEqual([sans, extensions], [[], []]);
  });
  it("ask for extensions once", async () => {
    const twice = await requestWith((own) => [own, own]);
    assert.throws(() => parseCsr(twice), {
      code: "PKI_BAD_CSR",
      message: /^\[PKI_BAD_CSR\] extensions are asked for twice/,
    });
  });
});
