import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DerReader, readWhole } from "./reader.ts";
import { tag } from "./tags.ts";
import { parseBoolean, parseNamedBits, parseOid, parseSmallInteger, parseTime } from "./values.ts";
import { element, integer, namedBits, oid, sequence, setOf, smallInteger, time } from "./writer.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const read = (bytes: Buffer) => new DerReader(bytes, "x").next();

describe("DER reader", () => {
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["nothing", "", /cut off/],
    ["a tag alone", "30", /cut off/],
    ["contents that are missing", "30 03 02 01", /cut off/],
    ["a length that is missing", "30 82 01", /cut off/],
    ["an indefinite length", "30 80 00 00", /indefinite/],
    ["a long form for a short length", "30 81 01 00", /minimal/],
    ["a padded length", "30 82 00 80", /minimal/],
    ["a length of five bytes", "30 85 01 00 00 00 00", /more than four/],
    ["a length far beyond the input", "30 84 ff ff ff ff", /cut off/],
    ["a tag of several bytes", "1f 81 01 00", /several bytes/],
    ["bytes after the value", "30 00 00", /1 bytes too many/],
    ["another tag", "31 00", /0x31 where 0x30/],
  ];
  for (const [name, bytes, reason] of refused) {
    it(`refuses ${name}`, () => assert.throws(() => readWhole(hex(bytes), tag.sequence, "x").end(), reason));
  }

  it("does not read beyond what encloses a value", () => {
    const inner = readWhole(hex("30 03 02 02 01"), tag.sequence, "x");
    assert.throws(() => inner.next(), /cut off/);
  });
});

describe("DER values", () => {
  for (const dotted of ["1.2.840.113549.1.1.11", "2.5.29.17", "2.999.3", "0.9.2342", "1.3.6.1.4.1.4294967295"]) {
    it(`object identifier ${dotted} is read as it was written`, () =>
      assert.equal(parseOid(read(oid(dotted))), dotted));
  }

  for (const bad of ["06 00", "06 02 80 01", "06 01 81", "06 09 ff ff ff ff ff ff ff ff 7f"]) {
    it(`refuses the object identifier ${bad}`, () => assert.throws(() => parseOid(read(hex(bad))), /PKI_BAD_DER/));
  }

  const times: readonly (readonly [string, string, string])[] = [
    ["2026-11-21T02:40:00.000Z", "17", "261121024000Z"],
    ["2049-12-31T23:59:59.000Z", "17", "491231235959Z"],
    ["2050-01-01T00:00:00.000Z", "18", "20500101000000Z"],
    ["1950-01-01T00:00:00.000Z", "17", "500101000000Z"],
    ["9999-12-31T23:59:59.000Z", "18", "99991231235959Z"],
  ];
  for (const [iso, kind, text] of times) {
    it(`${iso} is ${text}`, () => {
      const der = time(Date.parse(iso));
      assert.deepEqual([der.subarray(0, 1).toString("hex"), der.subarray(2).toString()], [kind, text]);
      assert.equal(new Date(parseTime(read(der))).toISOString(), iso);
    });
  }

  for (const text of [
    "261321024000Z",
    "260230000000Z",
    "2611210240Z",
    "261121024000",
    "261121246000Z",
    "2611210240+1Z",
  ]) {
    it(`refuses the time ${text}`, () =>
      assert.throws(() => parseTime(read(element(tag.utcTime, Buffer.from(text)))), /PKI_BAD_DER/));
  }

  it("writes integers with the fewest bytes that keep them positive", () => {
    assert.deepEqual(
      [hex(""), hex("00"), hex("7f"), hex("80"), hex("0000ff01")].map((bytes) => integer(bytes).toString("hex")),
      ["020100", "020100", "02017f", "02020080", "020300ff01"],
    );
    assert.equal(parseSmallInteger(read(smallInteger(70_000))), 70_000);
    assert.throws(() => parseSmallInteger(read(hex("02 01 ff"))), /negative/);
    assert.throws(() => parseSmallInteger(read(hex("02 02 00 01"))), /padded/);
  });

  it("writes named bits without trailing zeros", () => {
    assert.equal(namedBits([0, 2]).toString("hex"), "030205a0");
    assert.deepEqual(parseNamedBits(read(namedBits([5, 6, 8]))), [5, 6, 8]);
    assert.deepEqual(parseNamedBits(read(namedBits([]))), []);
  });

  it("takes the two booleans of DER only", () => {
    assert.equal(parseBoolean(read(hex("01 01 ff"))), true);
    assert.throws(() => parseBoolean(read(hex("01 01 01"))), /boolean/);
  });

  it("sorts a set and takes lengths of every size", () => {
    assert.equal(setOf(hex("0202"), hex("0201")).toString("hex"), "310402010202");
    for (const size of [0, 127, 128, 255, 256, 65_535, 65_536]) {
      const whole = sequence(Buffer.alloc(size));
      assert.equal(new DerReader(whole, "x").next(tag.sequence).body.length, size);
    }
  });
});
