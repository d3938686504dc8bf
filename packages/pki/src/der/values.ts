/** Values inside DER elements: integers, object identifiers, bit strings, times, texts. */
import { PkiError } from "../errors.ts";
import type { DerValue } from "./reader.ts";
import { tag } from "./tags.ts";

/** The dotted form. @throws PkiError PKI_BAD_DER */
export function parseOid({ body }: DerValue): string {
  if (body.length === 0 || body.length > 64) throw bad("an object identifier has no or too many bytes");
  const parts: number[] = [];
  let value = 0;
  let isFirstByte = true;
  for (const byte of body) {
    if (isFirstByte && byte === 0x80) throw bad("an object identifier is padded");
    value = value * 128 + (byte & 0x7f);
    if (!Number.isSafeInteger(value)) throw bad("an object identifier is too large");
    isFirstByte = byte < 0x80;
    if (!isFirstByte) continue;
    if (parts.length === 0)
      parts.push(Math.min(2, Math.floor(value / 40)), value - 40 * Math.min(2, Math.floor(value / 40)));
    else parts.push(value);
    value = 0;
  }
  if (!isFirstByte) throw bad("an object identifier is cut off");
  return parts.join(".");
}

/** A small non-negative integer such as a version or a path length. @throws PkiError PKI_BAD_DER */
export function parseSmallInteger({ body }: DerValue): number {
  const first = body[0];
  if (first === undefined || body.length > 5 || (first & 0x80) !== 0) throw bad("an integer is negative or too large");
  if (first === 0 && body.length > 1 && ((body[1] ?? 0) & 0x80) === 0) throw bad("an integer is padded");
  return body.readUIntBE(0, body.length);
}

/** The bits as bytes; only whole bytes occur where this is used. @throws PkiError PKI_BAD_DER */
export function parseBitString({ body }: DerValue): Buffer {
  if (body[0] !== 0) throw bad("a bit string does not end at a byte");
  return body.subarray(1);
}

/** The numbers of the bits that are set (KeyUsage). @throws PkiError PKI_BAD_DER */
export function parseNamedBits({ body }: DerValue): readonly number[] {
  const unused = body[0];
  if (unused === undefined || unused > 7 || (body.length === 1 && unused !== 0))
    throw bad("a list of bits is malformed");
  const bits: number[] = [];
  for (let i = 0; i < (body.length - 1) * 8 - unused; i++) {
    if (((body[1 + (i >> 3)] ?? 0) & (0x80 >> (i & 7))) !== 0) bits.push(i);
  }
  return bits;
}

/** Milliseconds since 1970. @throws PkiError PKI_BAD_DER */
export function parseTime(value: DerValue): number {
  const text = value.body.toString("latin1");
  const isUtc = value.tag === tag.utcTime;
  if (!isUtc && value.tag !== tag.generalizedTime) throw bad("a time has an unknown form");
  const match = (isUtc ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/ : /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/).exec(
    text,
  );
  if (match === null) throw bad("a time is malformed");
  const [year = 0, month = 0, ...rest] = match.slice(1).map(Number);
  const [day = 0, hour = 0, minute = 0, second = 0] = rest;
  const fullYear = isUtc ? (year < 50 ? 2000 + year : 1900 + year) : year;
  const at = new Date(0);
  at.setUTCFullYear(fullYear, month - 1, day);
  at.setUTCHours(hour, minute, second);
  if (at.getUTCMonth() !== month - 1 || at.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
    throw bad("a time does not exist");
  return at.getTime();
}

/** @throws PkiError PKI_BAD_DER */
export function parseBoolean({ body }: DerValue): boolean {
  if (body.length !== 1 || (body[0] !== 0 && body[0] !== 0xff)) throw bad("a boolean is malformed");
  return body[0] === 0xff;
}

/** Any of the string types of a name. @throws PkiError PKI_BAD_DER */
export function parseText(value: DerValue): string {
  switch (value.tag) {
    case tag.utf8String:
      return value.body.toString("utf8");
    case tag.bmpString:
      if (value.body.length % 2 !== 0) throw bad("a text of two-byte characters has an odd number of bytes");
      return Buffer.from(value.body).swap16().toString("utf16le");
    default:
      return value.body.toString("latin1");
  }
}

function bad(message: string): PkiError {
  return new PkiError("PKI_BAD_DER", message);
}

/** A serial number, in hexadecimal without leading zero bytes. */
export function serialText(body: Buffer): string {
  const first = body.findIndex((byte) => byte !== 0);
  return body.subarray(first === -1 ? body.length - 1 : first).toString("hex");
}
