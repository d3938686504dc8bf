/** Extensions of certificates: fields read, and refused encodings. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { context, tag } from "../der/tags.ts";
import { boolean, element, octetString, oid, sequence, smallInteger } from "../der/writer.ts";
import { oids } from "../oids.ts";
import {
  authorityKeyId,
  basicConstraints,
  encodeExtension,
  extKeyUsage,
  keyUsage,
  parseAuthorityKeyId,
  parseBasicConstraints,
  parseExtensions,
  parseExtKeyUsage,
  parseKeyUsage,
  parseSubjectKeyId,
  subjectKeyId,
} from "./extensions.ts";

const value = Buffer.of(5, 0);
const [one, two] = [
  { id: "1.2.3.4", critical: true, value },
  { id: "1.2.3.5", critical: false, value },
];

describe("the extensions of a certificate", () => {
  it("are read as they were written", () => {
    const contents = Buffer.concat([one, two].map(encodeExtension));
    assert.deepEqual(parseExtensions(contents), [one, two]);
    assert.deepEqual(parseExtensions(Buffer.alloc(0)), []);
    assert.ok(encodeExtension(two).equals(sequence(oid(two.id), octetString(value))));
  });

  it("are not critical where that is written out", () =>
    assert.deepEqual(parseExtensions(sequence(oid(two.id), boolean(false), octetString(value))), [two]));

  for (const [name, contents, reason] of [
    ["one twice", Buffer.concat([encodeExtension(one), encodeExtension({ ...two, id: one.id })]), /occurs twice/],
    ["one without a value", sequence(oid(one.id)), /cut off/],
    ["more after the value", sequence(oid(one.id), octetString(value), value), /too many/],
    ["a value of another kind", sequence(oid(one.id), value), /where 0x4 belongs/],
  ] as const)
    it(`are refused with ${name}`, () =>
      assert.throws(() => parseExtensions(contents), { code: "PKI_BAD_DER", message: reason }));
});

describe("basic constraints", () => {
  for (const constraints of [
    { isCa: true, pathLength: 0 },
    { isCa: true, pathLength: 3 },
    { isCa: true },
    { isCa: false },
  ])
    it(`are read as they were written: ${JSON.stringify(constraints)}`, () => {
      const extension = basicConstraints(constraints);
      assert.deepEqual(parseBasicConstraints(extension.value), constraints);
      assert.deepEqual([extension.id, extension.critical], [oids.basicConstraints, true]);
    });

  it("of no CA have no path length", () =>
    assert.ok(basicConstraints({ isCa: false, pathLength: 1 }).value.equals(sequence())));

  it("are of no CA where that is written out", () =>
    assert.deepEqual(parseBasicConstraints(sequence(boolean(false), smallInteger(1))), { isCa: false, pathLength: 1 }));

  it("are refused with more than they may have", () =>
    assert.throws(() => parseBasicConstraints(sequence(boolean(true), smallInteger(1), value)), /too many/));
});

describe("uses of a key", () => {
  it("are read as they were written", () => {
    const usages = ["digitalSignature", "cRLSign", "decipherOnly"] as const;
    assert.deepEqual(parseKeyUsage(keyUsage(usages).value), usages);
    assert.equal(keyUsage(usages).critical, true);
    assert.deepEqual(parseExtKeyUsage(extKeyUsage([oids.serverAuth, oids.clientAuth]).value), [
      oids.serverAuth,
      oids.clientAuth,
    ]);
    assert.equal(extKeyUsage([]).critical, false);
  });

  it("that have no name are skipped", () =>
    assert.deepEqual(parseKeyUsage(element(tag.bitString, Buffer.of(0, 0x80, 0xc0))), [
      "digitalSignature",
      "decipherOnly",
    ]));

  it("are refused with more behind them", () =>
    assert.throws(() => parseKeyUsage(Buffer.concat([keyUsage(["cRLSign"]).value, value])), /too many/));
});

describe("identifiers of keys", () => {
  const id = Buffer.from("0102", "hex");
  it("are read as they were written", () => {
    assert.deepEqual(parseSubjectKeyId(subjectKeyId(id).value), id);
    assert.deepEqual(parseAuthorityKeyId(authorityKeyId(id).value), id);
    assert.deepEqual([subjectKeyId(id).critical, authorityKeyId(id).critical], [false, false]);
  });
  it("may be missing where the issuer is named another way", () =>
    assert.equal(parseAuthorityKeyId(sequence(element(context(2), id))), undefined));
  it("are refused with more behind them", () =>
    assert.throws(() => parseSubjectKeyId(Buffer.concat([octetString(id), value])), /too many/));
});
