/** Certificate extensions: the list of them, and the values of those that matter in a mesh. */
import { DerReader, readWhole } from "../der/reader.ts";
import { context, tag } from "../der/tags.ts";
import { parseBoolean, parseNamedBits, parseOid, parseSmallInteger } from "../der/values.ts";
import { boolean, element, namedBits, octetString, oid, sequence, smallInteger } from "../der/writer.ts";
import { PkiError } from "../errors.ts";
import { oids } from "../oids.ts";

/** One extension; `value` is the DER inside of its OCTET STRING. */
export interface Extension {
  readonly id: string;
  readonly critical: boolean;
  readonly value: Buffer;
}

const keyUsages = [
  "digitalSignature",
  "nonRepudiation",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
  "encipherOnly",
  "decipherOnly",
] as const;
/** A bit of the extension keyUsage. */
export type KeyUsage = (typeof keyUsages)[number];

/** The key's right to sign certificates, and the number of CAs that may follow it. */
export interface BasicConstraints {
  readonly isCa: boolean;
  readonly pathLength?: number;
}

/** The extension as it stands in a certificate. */
export function encodeExtension({ id, critical, value }: Extension): Buffer {
  return critical ? sequence(oid(id), boolean(true), octetString(value)) : sequence(oid(id), octetString(value));
}

/** `contents` is the inside of Extensions. An extension may occur once. @throws PkiError PKI_BAD_DER */
export function parseExtensions(contents: Buffer): readonly Extension[] {
  const list = new DerReader(contents, "the extensions");
  const found = new Map<string, Extension>();
  while (!list.isAtEnd) {
    const entry = list.enter(tag.sequence);
    const id = parseOid(entry.next(tag.oid));
    const flag = entry.optional(tag.boolean);
    const value = entry.next(tag.octetString).body;
    entry.end();
    if (found.has(id)) throw new PkiError("PKI_BAD_DER", `extension ${id} occurs twice`);
    found.set(id, { id, critical: flag !== undefined && parseBoolean(flag), value });
  }
  return [...found.values()];
}

/** The critical extension basicConstraints. */
export function basicConstraints({ isCa, pathLength }: BasicConstraints): Extension {
  const parts = isCa ? [boolean(true), ...(pathLength === undefined ? [] : [smallInteger(pathLength)])] : [];
  return { id: oids.basicConstraints, critical: true, value: sequence(...parts) };
}

export function parseBasicConstraints(value: Buffer): BasicConstraints {
  const inside = readWhole(value, tag.sequence, "the basic constraints");
  const ca = inside.optional(tag.boolean);
  const length = inside.optional(tag.integer);
  inside.end();
  const isCa = ca !== undefined && parseBoolean(ca);
  return length === undefined ? { isCa } : { isCa, pathLength: parseSmallInteger(length) };
}

/** The critical extension keyUsage. */
export function keyUsage(usages: readonly KeyUsage[]): Extension {
  return { id: oids.keyUsage, critical: true, value: namedBits(usages.map((usage) => keyUsages.indexOf(usage))) };
}

export function parseKeyUsage(value: Buffer): readonly KeyUsage[] {
  const reader = new DerReader(value, "the key usage");
  const bits = parseNamedBits(reader.next(tag.bitString));
  reader.end();
  return bits.flatMap((bit) => keyUsages[bit] ?? []);
}

/** The extension extKeyUsage from object identifiers. */
export function extKeyUsage(ids: readonly string[]): Extension {
  return { id: oids.extKeyUsage, critical: false, value: sequence(...ids.map(oid)) };
}

export function parseExtKeyUsage(value: Buffer): readonly string[] {
  const list = readWhole(value, tag.sequence, "the extended key usage");
  const ids: string[] = [];
  while (!list.isAtEnd) ids.push(parseOid(list.next(tag.oid)));
  return ids;
}

/** The extension subjectKeyIdentifier. */
export function subjectKeyId(id: Uint8Array): Extension {
  return { id: oids.subjectKeyIdentifier, critical: false, value: octetString(id) };
}

/** The extension authorityKeyIdentifier with a key identifier alone. */
export function authorityKeyId(id: Uint8Array): Extension {
  return { id: oids.authorityKeyIdentifier, critical: false, value: sequence(element(context(0), id)) };
}

export function parseSubjectKeyId(value: Buffer): Buffer {
  const reader = new DerReader(value, "the subject key identifier");
  const { body } = reader.next(tag.octetString);
  reader.end();
  return body;
}

export function parseAuthorityKeyId(value: Buffer): Buffer | undefined {
  return readWhole(value, tag.sequence, "the authority key identifier").optional(context(0))?.body;
}
