/**
 * Certification requests (PKCS #10). Of a request the CA takes the public key, once its owner has proven to hold the private
 * one; names in it are a request that the caller's identity decides about.
 */
import type { KeyObject } from "node:crypto";
import { DerReader, readWhole } from "../der/reader.ts";
import { contextConstructed, tag } from "../der/tags.ts";
import { parseBitString, parseOid, parseSmallInteger } from "../der/values.ts";
import { bitString, element, oid, sequence, setOf, smallInteger } from "../der/writer.ts";
import { PkiError } from "../errors.ts";
import { parseSignatureAlgorithm, signatureAlgorithmOf, signBytes, spkiOf, verifyBytes } from "../keys.ts";
import { oids } from "../oids.ts";
import { encodePem, parseOnePem } from "../pem.ts";
import { checkKeyPolicy, type PublicKeyInfo, parsePublicKeyInfo } from "../public-key-info.ts";
import { type Extension, encodeExtension, parseExtensions } from "./extensions.ts";
import { encodeName, type Name, parseName } from "./name.ts";
import { encodeSans, parseSans, type San } from "./san.ts";

/** A request whose signature proves that its sender has the private key. */
export interface Csr {
  readonly tbs: Buffer;
  readonly subject: Name;
  readonly spki: Buffer;
  readonly key: PublicKeyInfo;
  /** Extensions that the requester asks for. */
  readonly extensions: readonly Extension[];
  readonly sans: readonly San[];
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
}

/** @throws PkiError PKI_BAD_CSR with the reason, never another error. */
export function parseCsr(der: Buffer): Csr {
  try {
    const request = readWhole(der, tag.sequence, "the request");
    const tbs = request.next(tag.sequence);
    const signatureAlgorithm = parseSignatureAlgorithm(request.next(tag.sequence).body);
    const signature = parseBitString(request.next(tag.bitString));
    request.end();
    return { tbs: tbs.raw, ...readInfo(tbs.body), signatureAlgorithm, signature };
  } catch (cause) {
    if (!(cause instanceof PkiError) || cause.code === "PKI_BAD_CSR") throw cause;
    throw new PkiError("PKI_BAD_CSR", `malformed: ${cause.message}`, { cause });
  }
}

function readInfo(body: Buffer) {
  const info = new DerReader(body, "the request");
  const version = parseSmallInteger(info.next(tag.integer));
  if (version !== 0) throw new PkiError("PKI_BAD_CSR", `version ${version + 1} is unknown`);
  const subject = parseName(info.next(tag.sequence).body);
  const spki = info.next(tag.sequence).raw;
  const extensions = info.isAtEnd ? [] : requestedExtensions(info.next(contextConstructed(0)).body);
  info.end();
  const sans = extensions.find(({ id }) => id === oids.subjectAltName);
  return {
    subject,
    spki,
    key: parsePublicKeyInfo(spki),
    extensions,
    sans: sans === undefined ? [] : parseSans(sans.value),
  };
}

function requestedExtensions(body: Buffer): readonly Extension[] {
  const attributes = new DerReader(body, "the attributes of the request");
  const found: Extension[] = [];
  while (!attributes.isAtEnd) {
    const attribute = attributes.enter(tag.sequence);
    const type = parseOid(attribute.next(tag.oid));
    const values = attribute.next(tag.set);
    attribute.end();
    if (type !== oids.extensionRequest) continue;
    if (found.length > 0) throw new PkiError("PKI_BAD_CSR", "extensions are asked for twice");
    found.push(...parseExtensions(new DerReader(values.body, "the wished extensions").next(tag.sequence).body));
  }
  return found;
}

const csrLabels = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];

/** @throws PkiError PKI_BAD_PEM, PKI_BAD_CSR */
export function parseCsrPem(pem: string): Csr {
  return parseCsr(parseOnePem(pem, csrLabels).der);
}

/**
 * The requester holds the key, and the key is good enough. The policy comes first: it bounds what the check costs.
 * @throws PkiError PKI_WEAK_KEY, PKI_UNSUPPORTED_ALGORITHM, PKI_BAD_KEY, PKI_BAD_SIGNATURE
 */
export function verifyCsr(csr: Csr): void {
  checkKeyPolicy(csr.key);
  verifyBytes(csr.tbs, csr.signature, csr.signatureAlgorithm, csr.spki);
}

/** Inputs of a request. */
export interface CsrRequest {
  readonly key: KeyObject;
  readonly subject?: Name;
  readonly sans?: readonly San[];
}

/** Builds and signs a request, as DER. */
export function buildCsr({ key, subject = {}, sans = [] }: CsrRequest): Buffer {
  const critical = subject.commonName === undefined && subject.organization === undefined;
  const extension = { id: oids.subjectAltName, critical };
  const requested = sans.length === 0 ? [] : [sequence(encodeExtension({ ...extension, value: encodeSans(sans) }))];
  const attributes = requested.map((extensions) => sequence(oid(oids.extensionRequest), setOf(extensions)));
  const tbs = sequence(
    smallInteger(0),
    encodeName(subject),
    spkiOf(key),
    element(contextConstructed(0), ...attributes),
  );
  return sequence(tbs, signatureAlgorithmOf(key), bitString(signBytes(tbs, key)));
}

/** The request as PEM, with a newline at its end. */
export function csrPem(der: Buffer): string {
  return encodePem("CERTIFICATE REQUEST", der);
}
