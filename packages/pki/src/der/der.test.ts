import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DerReader, readWhole } from "./reader.ts";
import { tag } from "./tags.ts";
import {
  parseBitString,
  parseBoolean,
  parseNamedBits,
  parseOid,
  parseSmallInteger,
  parseText,
  parseTime,
  serialText,
} from "./values.ts";
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
    assert.equal(namedBits([]).toString("hex"), "030100");
  });

  it("takes the two booleans of DER only", () => {
    assert.equal(parseBoolean(read(hex("01 01 ff"))), true);
    assert.equal(parseBoolean(read(hex("01 01 00"))), false);
    for (const bad of ["01 01 01", "01 00", "01 02 ff ff"])
      assert.throws(() => parseBoolean(read(hex(bad))), /boolean/, bad);
  });

  it("takes small integers of up to five bytes", () => {
    assert.equal(parseSmallInteger(read(hex("02 05 00 ff ff ff ff"))), 0xffff_ffff);
    assert.equal(parseSmallInteger(read(hex("02 01 00"))), 0);
    for (const bad of ["02 00", "02 06 01 00 00 00 00 00"])
      assert.throws(() => parseSmallInteger(read(hex(bad))), /too large/, bad);
  });

  it("takes bit strings of whole bytes, and refuses malformed lists of bits", () => {
    assert.equal(parseBitString(read(hex("03 02 00 ff"))).toString("hex"), "ff");
    for (const bad of ["03 02 01 fe", "03 00"]) assert.throws(() => parseBitString(read(hex(bad))), /bit string/, bad);
    for (const bad of ["03 00", "03 02 08 00", "03 01 01"])
      assert.throws(() => parseNamedBits(read(hex(bad))), /list of bits/, bad);
    assert.deepEqual(parseNamedBits(read(hex("03 02 07 80"))), [0]);
  });

  it("reads texts of every kind", () => {
    assert.equal(parseText(read(hex("0c 02 c3 a4"))), "\u00e4");
    assert.equal(parseText(read(hex("1e 04 00 41 00 e4"))), "A\u00e4");
    assert.equal(parseText(read(hex("14 01 e4"))), "\u00e4");
    assert.throws(() => parseText(read(hex("1e 01 41"))), { code: "PKI_BAD_DER", message: /odd number of bytes/ });
  });

  it("shows serial numbers without leading zero bytes", () =>
    assert.deepEqual(
      ["00", "0000", "00ff", "0a0b", "0100"].map((bytes) => serialText(hex(bytes))),
      ["00", "00", "ff", "0a0b", "0100"],
    ));

  it("refuses what is too long, too large, or of another kind", () => {
    const long = (bytes: number) => element(tag.oid, Buffer.alloc(bytes, 1));
    assert.equal(parseOid(read(long(64))).split(".").length, 65);
    assert.throws(() => parseOid(read(long(65))), /too many bytes/);
    assert.throws(() => parseTime(read(hex("0c 00"))), /unknown form/);
    for (const text of ["20260230000000Z", "20261121240000Z", "20261121006000Z", "20261121000060Z", "261121000000Z"])
      assert.throws(() => parseTime(read(element(tag.generalizedTime, Buffer.from(text)))), /PKI_BAD_DER/, text);
  });

  it("writes the year 1949 with four digits", () =>
    assert.equal(
      time(Date.UTC(1949, 11, 31))
        .subarray(2)
        .toString(),
      "19491231000000Z",
    ));

  it("sorts a set and takes lengths of every size", () => {
    assert.equal(setOf(hex("0202"), hex("0201")).toString("hex"), "310402010202");
    for (const size of [0, 127, 128, 255, 256, 65_535, 65_536, 0xff_ffff, 0x100_0000]) {
      const whole = sequence(Buffer.alloc(size));
      assert.equal(new DerReader(whole, "x").next(tag.sequence).body.length, size);
    }
  });
});
