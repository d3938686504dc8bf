/** DER out of parts: each function returns one complete element. */
import { tag } from "./tags.ts";

/** An element with a tag of one byte; `parts` are joined to its contents. */
export function element(elementTag: number, ...parts: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const header = lengthBytes(length);
  const out = Buffer.allocUnsafe(1 + header.length + length);
  out[0] = elementTag;
  let at = 1;
  for (const byte of header) out[at++] = byte;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff];
  if (length < 0x1000000) return [0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
  return [0x84, length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff];
}

/** A SEQUENCE of complete elements. */
export const sequence = (...parts: readonly Uint8Array[]): Buffer => element(tag.sequence, ...parts);
/** An OCTET STRING. */
export const octetString = (bytes: Uint8Array): Buffer => element(tag.octetString, bytes);
/** A UTF8String. */
export const utf8String = (text: string): Buffer => element(tag.utf8String, Buffer.from(text, "utf8"));
/** A BIT STRING without unused bits. */
export const bitString = (bytes: Uint8Array): Buffer => element(tag.bitString, Buffer.of(0), bytes);
/** A BOOLEAN. */
export const boolean = (value: boolean): Buffer => element(tag.boolean, Buffer.of(value ? 0xff : 0));
/** NULL. */
export const derNull: Buffer = Buffer.of(tag.null, 0);

/** DER sorts the members of a SET OF by their bytes. */
export function setOf(...parts: readonly Uint8Array[]): Buffer {
  return element(tag.set, ...[...parts].sort((a, b) => Buffer.compare(a, b)));
}

/** A non-negative integer of big-endian bytes; padding is removed or added as its sign needs. */
export function integer(bytes: Uint8Array): Buffer {
  let from = 0;
  while (from < bytes.length - 1 && bytes[from] === 0) from++;
  const trimmed = bytes.subarray(from);
  if (trimmed.length === 0) return element(tag.integer, Buffer.of(0));
  return ((trimmed[0] ?? 0) & 0x80) !== 0 ? element(tag.integer, Buffer.of(0), trimmed) : element(tag.integer, trimmed);
}

/** An INTEGER from 0 to 2^32 - 1. */
export function smallInteger(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return integer(bytes);
}

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes: number[] = [];
  for (const part of [first * 40 + second, ...rest]) {
    const groups = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) | 0x80);
    bytes.push(...groups);
  }
  return element(tag.oid, Buffer.from(bytes));
}

/** Named bits, trailing zeros left out as DER asks. */
export function namedBits(bits: readonly number[]): Buffer {
  if (bits.length === 0) return element(tag.bitString, Buffer.of(0));
  const highest = Math.max(...bits);
  const bytes = Buffer.alloc((highest >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return element(tag.bitString, Buffer.of(7 - (highest & 7)), bytes);
}

/** UTCTime up to 2049, GeneralizedTime after (RFC 5280, 4.1.2.5); fractions of a second are cut off. */
export function time(ms: number): Buffer {
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  const isUtc = year >= 1950 && year < 2050;
  const parts = [at.getUTCMonth() + 1, at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
  const text = `${isUtc ? two(year % 100) : String(year).padStart(4, "0")}${parts.map(two).join("")}Z`;
  return element(isUtc ? tag.utcTime : tag.generalizedTime, Buffer.from(text, "latin1"));
}

const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`);
