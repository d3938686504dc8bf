/** Certificates, written: for a workload, for a CA below another, and a root for itself. */
import { createHash, type KeyObject } from "node:crypto";
import { readWhole } from "../der/reader.ts";
import { contextConstructed, tag } from "../der/tags.ts";
import { parseBitString } from "../der/values.ts";
import { bitString, element, integer, sequence, smallInteger, time } from "../der/writer.ts";
import { signatureAlgorithmOf, signBytes, spkiOf } from "../keys.ts";
import { oids } from "../oids.ts";
import { type Certificate, parseCertificate } from "./certificate.ts";
import {
  authorityKeyId,
  basicConstraints,
  type Extension,
  encodeExtension,
  extKeyUsage,
  type KeyUsage,
  keyUsage,
  subjectKeyId,
} from "./extensions.ts";
import { encodeName, type Name } from "./name.ts";
import { encodeSans, type San } from "./san.ts";

/** Everything in a certificate except its signature and issuer. */
export interface CertificateTemplate {
  /** 16 random bytes from the caller. */
  readonly serial: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly subject: Name;
  readonly spki: Buffer;
  readonly sans: readonly San[];
  /** Beside the names and the identifier of the issuer's key. */
  readonly extensions: readonly Extension[];
}

/** The issuer of certificates: its name as it stands in its own certificate, the parts that are the same in all it signs, and the key. */
export interface Issuer {
  readonly nameDer: Buffer;
  readonly algorithmDer: Buffer;
  /** Names its key; empty if it has no identifier. */
  readonly keyIdDer: Buffer;
  readonly key: KeyObject;
}

export function issuerOf({ subjectDer, subjectKeyId: id }: Certificate, key: KeyObject): Issuer {
  return createIssuer(subjectDer, key, id);
}

function createIssuer(nameDer: Buffer, key: KeyObject, keyId?: Buffer): Issuer {
  const keyIdDer = keyId === undefined ? Buffer.alloc(0) : encodeExtension(authorityKeyId(keyId));
  return { nameDer, algorithmDer: signatureAlgorithmOf(key), keyIdDer, key };
}

const version3 = element(contextConstructed(0), smallInteger(2));

/** The signed certificate as DER. */
export function signCertificate({ extensions, ...template }: CertificateTemplate, issuer: Issuer): Buffer {
  return signEncoded({ ...template, extensionsDer: Buffer.concat(extensions.map(encodeExtension)) }, issuer);
}

interface EncodedTemplate extends Omit<CertificateTemplate, "extensions"> {
  readonly extensionsDer: Buffer;
}

function signEncoded(template: EncodedTemplate, issuer: Issuer): Buffer {
  const { sans, extensionsDer } = template;
  const subject = encodeName(template.subject);
  // RFC 5280, 4.2.1.6: critical exactly when the subject is empty.
  const critical = subject.length === 2;
  const names =
    sans.length === 0 ? [] : [encodeExtension({ id: oids.subjectAltName, critical, value: encodeSans(sans) })];
  const { algorithmDer } = issuer;
  const tbs = sequence(
    version3,
    integer(positive(template.serial)),
    algorithmDer,
    issuer.nameDer,
    sequence(time(template.notBeforeMs), time(template.notAfterMs)),
    subject,
    template.spki,
    element(contextConstructed(3), sequence(extensionsDer, issuer.keyIdDer, ...names)),
  );
  return sequence(tbs, algorithmDer, bitString(signBytes(tbs, issuer.key)));
}

/** RFC 5280, 4.1.2.2: a serial is never zero. */
function positive(serial: Uint8Array): Uint8Array {
  return serial.some((byte) => byte !== 0) ? serial : Uint8Array.of(1);
}

/** From when until when, in milliseconds since 1970. */
export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** A certificate of a workload or server. */
export interface LeafRequest extends Validity {
  readonly serial: Uint8Array;
  readonly spki: Buffer;
  readonly sans: readonly San[];
  readonly subject?: Name;
  /** Server and client when absent. */
  readonly usages?: readonly ("server" | "client")[];
}

const leafUsage = keyUsage(["digitalSignature", "keyEncipherment"]);
const notCa = basicConstraints({ isCa: false });
const usageIds = { server: oids.serverAuth, client: oids.clientAuth } as const;

/** The same in almost every certificate: encoded once. */
const bothEndsDer = leafExtensions(["server", "client"]);

function leafExtensions(usages: readonly ("server" | "client")[]): Buffer {
  const extended = usages.length === 0 ? [] : [extKeyUsage(usages.map((usage) => usageIds[usage]))];
  return Buffer.concat([leafUsage, ...extended, notCa].map(encodeExtension));
}

/** A certificate of a workload or a service: both ends of mTLS, never a CA. */
export function issueLeaf({ usages, subject = {}, ...rest }: LeafRequest, issuer: Issuer): Buffer {
  return signEncoded(
    { ...rest, subject, extensionsDer: usages === undefined ? bothEndsDer : leafExtensions(usages) },
    issuer,
  );
}

/** A certificate of a CA. */
export interface CaRequest extends Validity {
  readonly serial: Uint8Array;
  readonly subject: Name;
  readonly spki: Buffer;
  readonly pathLength?: number;
  readonly sans?: readonly San[];
  readonly keyUsages?: readonly KeyUsage[];
  readonly usages?: readonly ("server" | "client")[];
}

/** A certificate of a CA, signed by another one. */
export function issueCa(request: CaRequest, issuer: Issuer): Buffer {
  const { pathLength, keyUsages = ["keyCertSign", "cRLSign"], sans = [], usages = [], ...rest } = request;
  const ids = usages.map((usage) => usageIds[usage]);
  const extensions = [
    keyUsage(keyUsages),
    ...(ids.length > 0 ? [extKeyUsage(ids)] : []),
    basicConstraints(pathLength === undefined ? { isCa: true } : { isCa: true, pathLength }),
    subjectKeyId(keyIdOf(request.spki)),
  ];
  return signCertificate({ ...rest, sans, extensions }, issuer);
}

/** A root: its own issuer. The same key gives the same key identifier, so certificates below a renewed root stay valid. */
export function issueRoot(request: Omit<CaRequest, "spki">, key: KeyObject): Certificate {
  const spki = spkiOf(key);
  return parseCertificate(issueCa({ ...request, spki }, createIssuer(encodeName(request.subject), key)));
}

/** The root again, for another time: the same key and name, so either side of a connection may have either one. */
export function renewRoot(
  root: Certificate,
  key: KeyObject,
  request: Validity & { readonly serial: Uint8Array },
): Certificate {
  const { subject, sans, keyUsage: keyUsages } = root;
  return issueRoot({ ...request, subject, sans, ...(keyUsages && { keyUsages }) }, key);
}

/** RFC 5280, 4.2.1.2, method 1: SHA-1 of the bits of the public key; an identifier, no protection. */
export function keyIdOf(spki: Buffer): Buffer {
  const info = readWhole(spki, tag.sequence, "the public key");
  info.next(tag.sequence);
  const bits = parseBitString(info.next(tag.bitString));
  return createHash("sha1").update(bits).digest();
}

/** The time a leaf may live: back-dated for skewed clocks, never longer than its issuer. */
export function leafValidity(nowMs: number, ttlMs: number, issuer: Validity, skewMs: number): Validity {
  return { notBeforeMs: nowMs - skewMs, notAfterMs: Math.min(nowMs + ttlMs, issuer.notAfterMs) };
}
