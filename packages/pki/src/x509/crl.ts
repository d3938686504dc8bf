/** Certificate revocation lists (RFC 5280, 5): which serials an issuer has taken back. */
import { DerReader, type DerValue, readWhole } from "../der/reader.ts";
import { contextConstructed, tag } from "../der/tags.ts";
import { parseBitString, parseOid, parseSmallInteger, parseTime, serialText } from "../der/values.ts";
import { PkiError } from "../errors.ts";
import { verifyBytes } from "../keys.ts";
import { oids } from "../oids.ts";
import { parsePem } from "../pem.ts";
import type { Certificate } from "./certificate.ts";
import { parseExtensions } from "./extensions.ts";

/** A parsed list; its signature is not checked here. */
export interface Crl {
  readonly tbs: Buffer;
  readonly issuerDer: Buffer;
  readonly thisUpdateMs: number;
  /** When the issuer has another one. */
  readonly nextUpdateMs?: number;
  /** Serials as Certificate has them. */
  readonly revoked: ReadonlySet<string>;
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

/** Extensions of a list or an entry that do not change its meaning; others that are critical do. */
const understood: ReadonlySet<string> = new Set([oids.authorityKeyIdentifier, "2.5.29.20", "2.5.29.21", "2.5.29.24"]);

/** @throws PkiError PKI_BAD_CRL with the reason. */
export function parseCrl(der: Buffer): Crl {
  try {
    const list = readWhole(der, tag.sequence, "the CRL");
    const tbs = list.next(tag.sequence);
    const outer = list.next(tag.sequence);
    const signature = parseBitString(list.next(tag.bitString));
    list.end();
    const { algorithm, ...fields } = readTbs(tbs.body);
    if (!outer.raw.equals(algorithm.raw)) throw new PkiError("PKI_BAD_CRL", "it names two signature algorithms");
    const signatureAlgorithm = parseOid(new DerReader(algorithm.body, "the signature algorithm").next(tag.oid));
    return { ...fields, tbs: tbs.raw, signatureAlgorithm, signature };
  } catch (cause) {
    if (!(cause instanceof PkiError) || cause.code === "PKI_BAD_CRL") throw cause;
    throw new PkiError("PKI_BAD_CRL", `malformed: ${cause.message}`, { cause });
  }
}

function readTbs(body: Buffer) {
  const tbs = new DerReader(body, "the CRL");
  const version = tbs.optional(tag.integer);
  if (version !== undefined && parseSmallInteger(version) !== 1)
    throw new PkiError("PKI_BAD_CRL", "its version is unknown");
  const algorithm: DerValue = tbs.next(tag.sequence);
  const issuerDer = tbs.next(tag.sequence).raw;
  const thisUpdateMs = parseTime(tbs.next());
  const nextUpdate = tbs.optional(tag.utcTime) ?? tbs.optional(tag.generalizedTime);
  const entries = tbs.optional(tag.sequence);
  const extensions = tbs.optional(contextConstructed(0));
  tbs.end();
  if (extensions !== undefined) refuseUnknown(new DerReader(extensions.body, "the extensions").next(tag.sequence).body);
  return {
    algorithm,
    issuerDer,
    thisUpdateMs,
    ...(nextUpdate && { nextUpdateMs: parseTime(nextUpdate) }),
    revoked: entries === undefined ? new Set<string>() : readEntries(entries.body),
  };
}

function readEntries(body: Buffer): ReadonlySet<string> {
  const entries = new DerReader(body, "the revoked certificates");
  const serials = new Set<string>();
  while (!entries.isAtEnd) {
    const entry = entries.enter(tag.sequence);
    const { body: serial } = entry.next(tag.integer);
    parseTime(entry.next());
    if (!entry.isAtEnd) refuseUnknown(entry.next(tag.sequence).body);
    serials.add(serialText(serial));
  }
  return serials;
}

/** A delta or an indirect list has another meaning than its entries suggest. */
function refuseUnknown(extensions: Buffer): void {
  const unknown = parseExtensions(extensions).find(({ critical, id }) => critical && !understood.has(id));
  if (unknown !== undefined) throw new PkiError("PKI_BAD_CRL", `critical extension ${unknown.id} is not understood`);
}

/** All lists of a PEM text; at least one. @throws PkiError PKI_BAD_PEM, PKI_BAD_CRL */
export function parseCrlsPem(pem: string): readonly Crl[] {
  const blocks = parsePem(pem);
  if (blocks.length === 0) throw new PkiError("PKI_BAD_PEM", "no PEM block where an X509 CRL belongs");
  return blocks.map(({ label, der }) => {
    if (label !== "X509 CRL") throw new PkiError("PKI_BAD_PEM", `a ${label} where an X509 CRL belongs`);
    return parseCrl(der);
  });
}

/** @throws PkiError PKI_UNTRUSTED when none of the certificates is its issuer's. */
export function verifyCrl(crl: Crl, issuers: readonly Certificate[]): void {
  const isSigner = (issuer: Certificate): boolean => {
    if (!issuer.subjectDer.equals(crl.issuerDer) || issuer.keyUsage?.includes("cRLSign") === false) return false;
    try {
      verifyBytes(crl.tbs, crl.signature, crl.signatureAlgorithm, issuer.spki);
      return true;
    } catch (error) {
      if (error instanceof PkiError) return false;
      throw error;
    }
  };
  if (!issuers.some(isSigner)) throw new PkiError("PKI_UNTRUSTED", "the CRL is signed by none of the CAs");
}

/** True where a list of the certificate's issuer has its serial. */
export function isRevoked(
  { serial, issuerDer }: Pick<Certificate, "serial" | "issuerDer">,
  crls: readonly Crl[],
): boolean {
  return crls.some((crl) => crl.issuerDer.equals(issuerDer) && crl.revoked.has(serial));
}
