/** Distinguished names: of all attributes, the organization and the common name matter here. */
import { DerReader } from "../der/reader.ts";
import { tag } from "../der/tags.ts";
import { parseOid, parseText } from "../der/values.ts";
import { oid, sequence, setOf, utf8String } from "../der/writer.ts";
import { PkiError } from "../errors.ts";
import { oids } from "../oids.ts";

/** The attributes of a distinguished name that matter in a mesh. */
export interface Name {
  readonly organization?: string;
  readonly commonName?: string;
}

/** RFC 5280, appendix A: the most characters of either attribute; OpenSSL refuses longer ones. */
const maxLength = 64;

/** @throws PkiError PKI_BAD_NAME */
export function encodeName({ organization, commonName }: Name): Buffer {
  for (const text of [organization, commonName]) {
    if (text !== undefined && (text === "" || [...text].length > maxLength))
      throw new PkiError("PKI_BAD_NAME", `${JSON.stringify(text)} has not 1 to ${maxLength} characters`);
  }
  const parts: Buffer[] = [];
  if (organization !== undefined) parts.push(setOf(sequence(oid(oids.organization), utf8String(organization))));
  if (commonName !== undefined) parts.push(setOf(sequence(oid(oids.commonName), utf8String(commonName))));
  return sequence(...parts);
}

/** The first organization and common name of `contents`, the inside of a Name. @throws PkiError PKI_BAD_DER */
export function parseName(contents: Buffer): Name {
  const found: { organization?: string; commonName?: string } = {};
  const sets = new DerReader(contents, "a name");
  while (!sets.isAtEnd) {
    const attributes = sets.enter(tag.set);
    while (!attributes.isAtEnd) {
      const attribute = attributes.enter(tag.sequence);
      const type = parseOid(attribute.next(tag.oid));
      const value = attribute.next();
      attribute.end();
      if (type === oids.organization) found.organization ??= parseText(value);
      if (type === oids.commonName) found.commonName ??= parseText(value);
    }
  }
  return found;
}
