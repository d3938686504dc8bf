/** Certificates, read. The signature is not checked here: see chain.ts. */
import { createHash, type KeyObject } from "node:crypto";
import { DerReader, type DerValue, readWhole } from "../der/reader.ts";
import { context, contextConstructed, tag } from "../der/tags.ts";
import { parseBitString, parseOid, parseSmallInteger, parseTime, serialText } from "../der/values.ts";
import { PkiError } from "../errors.ts";
import { publicKeyOf, verifyBytes } from "../keys.ts";
import { oids } from "../oids.ts";
import { encodePem, parseOnePem, parsePem } from "../pem.ts";
import {
  type BasicConstraints,
  type Extension,
  type KeyUsage,
  parseAuthorityKeyId,
  parseBasicConstraints,
  parseExtensions,
  parseExtKeyUsage,
  parseKeyUsage,
  parseSubjectKeyId,
} from "./extensions.ts";
import { type Name, parseName } from "./name.ts";
import { parseSans, type San } from "./san.ts";

/** A parsed certificate; `der` are the bytes that it was parsed from. Times are milliseconds since 1970. */
export interface Certificate {
  readonly der: Buffer;
  readonly tbs: Buffer;
  /** Hexadecimal, lower case, without padding. */
  readonly serial: string;
  readonly subject: Name;
  readonly subjectDer: Buffer;
  readonly issuer: Name;
  readonly issuerDer: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly spki: Buffer;
  /** Made when it is first asked for. */
  readonly publicKey: KeyObject;
  readonly extensions: readonly Extension[];
  readonly sans: readonly San[];
  readonly basicConstraints: BasicConstraints;
  /** Absent: every use is allowed. */
  readonly keyUsage?: readonly KeyUsage[];
  readonly extKeyUsage?: readonly string[];
  readonly subjectKeyId?: Buffer;
  readonly authorityKeyId?: Buffer;
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

/** @throws PkiError PKI_BAD_CERTIFICATE with the reason. */
export function parseCertificate(der: Buffer): Certificate {
  try {
    const certificate = readWhole(der, tag.sequence, "the certificate");
    const tbs = certificate.next(tag.sequence);
    const outer = certificate.next(tag.sequence);
    const signature = parseBitString(certificate.next(tag.bitString));
    certificate.end();
    const fields = readTbs(tbs.body);
    if (!outer.raw.equals(fields.algorithm.raw))
      throw new PkiError("PKI_BAD_CERTIFICATE", "it names two signature algorithms");
    const { algorithm, extensions, ...rest } = fields;
    let publicKey: KeyObject | undefined;
    return {
      ...rest,
      der: Buffer.from(der),
      tbs: tbs.raw,
      extensions,
      ...readExtensions(extensions),
      get publicKey() {
        publicKey ??= publicKeyOf(rest.spki);
        return publicKey;
      },
      signatureAlgorithm: parseOid(new DerReader(algorithm.body, "the signature algorithm").next(tag.oid)),
      signature,
    };
  } catch (cause) {
    if (!(cause instanceof PkiError) || cause.code === "PKI_BAD_CERTIFICATE") throw cause;
    throw new PkiError("PKI_BAD_CERTIFICATE", `malformed: ${cause.message}`, { cause });
  }
}

function readTbs(body: Buffer) {
  const tbs = new DerReader(body, "the certificate");
  const version =
    tbs.peek() === contextConstructed(0) ? parseSmallInteger(tbs.enter(contextConstructed(0)).next(tag.integer)) : 0;
  if (version > 2) throw new PkiError("PKI_BAD_CERTIFICATE", `version ${version + 1} is unknown`);
  const serial = serialText(tbs.next(tag.integer).body);
  const algorithm: DerValue = tbs.next(tag.sequence);
  const issuer = tbs.next(tag.sequence);
  const validity = tbs.enter(tag.sequence, "the validity");
  const notBeforeMs = parseTime(validity.next());
  const notAfterMs = parseTime(validity.next());
  validity.end();
  const subject = tbs.next(tag.sequence);
  const spki = tbs.next(tag.sequence).raw;
  tbs.optional(context(1)); // unique identifiers of X.509 v2
  tbs.optional(context(2));
  const extensions = tbs.isAtEnd ? [] : parseExtensions(tbs.enter(contextConstructed(3)).next(tag.sequence).body);
  tbs.end();
  return {
    serial,
    algorithm,
    issuer: parseName(issuer.body),
    issuerDer: issuer.raw,
    notBeforeMs,
    notAfterMs,
    subject: parseName(subject.body),
    subjectDer: subject.raw,
    spki,
    extensions,
  };
}

function readExtensions(extensions: readonly Extension[]) {
  const valueOf = (id: string) => extensions.find((extension) => extension.id === id)?.value;
  const constraints = valueOf(oids.basicConstraints);
  const usage = valueOf(oids.keyUsage);
  const extended = valueOf(oids.extKeyUsage);
  const sans = valueOf(oids.subjectAltName);
  const subjectId = valueOf(oids.subjectKeyIdentifier);
  const authority = valueOf(oids.authorityKeyIdentifier);
  const authorityId = authority && parseAuthorityKeyId(authority);
  return {
    basicConstraints: constraints === undefined ? { isCa: false } : parseBasicConstraints(constraints),
    sans: sans === undefined ? [] : parseSans(sans),
    ...(usage && { keyUsage: parseKeyUsage(usage) }),
    ...(extended && { extKeyUsage: parseExtKeyUsage(extended) }),
    ...(subjectId && { subjectKeyId: parseSubjectKeyId(subjectId) }),
    ...(authorityId && { authorityKeyId: authorityId }),
  };
}

/** The first certificate of a PEM text. @throws PkiError PKI_BAD_PEM, PKI_BAD_CERTIFICATE */
export function parseCertificatePem(pem: string): Certificate {
  return parseCertificate(parseOnePem(pem, ["CERTIFICATE"]).der);
}

/** All certificates of a PEM text; at least one. @throws PkiError PKI_BAD_PEM, PKI_BAD_CERTIFICATE */
export function parseCertificatesPem(pem: string): readonly Certificate[] {
  const blocks = parsePem(pem);
  if (blocks.length === 0) throw new PkiError("PKI_BAD_PEM", "no PEM block where a CERTIFICATE belongs");
  return blocks.map(({ label, der }) => {
    if (label !== "CERTIFICATE") throw new PkiError("PKI_BAD_PEM", `a ${label} where a CERTIFICATE belongs`);
    return parseCertificate(der);
  });
}

/** The certificate as PEM, with a newline at its end. */
export function certificatePem({ der }: Pick<Certificate, "der">): string {
  return encodePem("CERTIFICATE", der);
}

export function fingerprint({ der }: Pick<Certificate, "der">): string {
  return createHash("sha256").update(der).digest("hex");
}

/** @throws PkiError PKI_BAD_SIGNATURE, PKI_UNSUPPORTED_ALGORITHM if `issuer`'s key did not sign the certificate. */
export function verifySignature(certificate: Certificate, issuer: Certificate): void {
  verifyBytes(certificate.tbs, certificate.signature, certificate.signatureAlgorithm, issuer.spki);
}

/** True where subject and issuer have the same bytes. */
export function isSelfIssued({ subjectDer, issuerDer }: Certificate): boolean {
  return subjectDer.equals(issuerDer);
}

/**
 * Names a CA by its key: a renewed certificate for the same key and name verifies what the old one signed. 16 hexadecimal
 * digits of the SHA-256 of the key.
 */
export function rootId({ spki }: Pick<Certificate, "spki">): string {
  return createHash("sha256").update(spki).digest("hex").slice(0, 16);
}
