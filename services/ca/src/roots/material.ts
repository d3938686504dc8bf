/** The signing material of the CA: a key, its certificate, the chain from there to the root, and the roots. Checked when loaded. */
import type { KeyObject } from "node:crypto";
import {
  type Certificate,
  type Crl,
  certificatePem,
  type Issuer,
  isRevoked,
  isSameKey,
  issuerOf,
  PkiError,
  parseCertificatesPem,
  parseCrlsPem,
  parsePrivateKey,
  rootId,
  sanOf,
  verifyChain,
  verifyCrl,
} from "@flotilla/pki";
import { CaError } from "../errors.ts";

export interface SigningMaterial {
  readonly certificate: Certificate;
  readonly key: KeyObject;
  readonly issuer: Issuer;
  /** Certificates sent after a leaf, one each. */
  readonly chain: readonly string[];
  readonly roots: readonly Certificate[];
  /** All roots in one text. */
  readonly rootsPem: string;
  /** Of the root that issued certificates lead to, and of all of them, sorted (see rootId). */
  readonly rootId: string;
  readonly rootIds: readonly string[];
  readonly origin: "self-signed" | "plugged-in";
  /** Revocations by the CAs of the chain; empty when none are known. */
  readonly crls: readonly Crl[];
  /** The same, as it goes to proxies. */
  readonly crlPem: string;
}

export interface MaterialFiles {
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly rootsPem: string;
  /** As the operator gave it; without one, the signing certificate unless that is a root. */
  readonly chainPem?: string;
  readonly origin: SigningMaterial["origin"];
  readonly crlPem?: string;
}

/** Trust domains are undefined while the mesh is not known. @throws CaError CA_BAD_MATERIAL with the reason. */
export function readMaterial(
  files: MaterialFiles,
  trustDomains: readonly string[] | undefined,
  nowMs: number,
): SigningMaterial {
  try {
    const [certificate, ...more] = parseCertificatesPem(files.certificatePem);
    const key = parsePrivateKey(files.keyPem);
    const roots = parseCertificatesPem(files.rootsPem);
    if (certificate === undefined) throw bad("there is no signing certificate");
    const chain = chainOf(certificate, more, files.chainPem, roots);
    checkSigner(certificate, key, trustDomains);
    const root = verifyChain({ leaf: certificate, intermediates: chain, roots, nowMs }).at(-1) ?? certificate;
    const { crlPem = "" } = files;
    const crls = readCrls(crlPem, [certificate, ...chain, ...roots]);
    return {
      certificate,
      key,
      issuer: issuerOf(certificate, key),
      chain: chain.map(certificatePem),
      roots,
      rootsPem: roots.map(certificatePem).join(""),
      rootId: rootId(root),
      rootIds: idsOf(roots),
      origin: files.origin,
      crls,
      crlPem,
    };
  } catch (cause) {
    if (cause instanceof PkiError) throw new CaError("CA_BAD_MATERIAL", cause.message, { cause });
    throw cause;
  }
}

/** @throws CaError CA_BAD_MATERIAL when a list is not of these CAs, or takes back one of them; PkiError */
function readCrls(pem: string, cas: readonly Certificate[]): readonly Crl[] {
  if (pem.trim() === "") return [];
  const crls = parseCrlsPem(pem);
  for (const crl of crls) verifyCrl(crl, cas);
  const revoked = cas.find((ca) => isRevoked(ca, crls));
  if (revoked !== undefined) throw bad(`the CA certificate with serial ${revoked.serial} is revoked`);
  return crls;
}

export function idsOf(roots: readonly Certificate[]): readonly string[] {
  return [...new Set(roots.map(rootId))].sort();
}

function chainOf(
  certificate: Certificate,
  more: readonly Certificate[],
  chainPem: string | undefined,
  roots: readonly Certificate[],
): readonly Certificate[] {
  const isRoot = roots.some(({ der }) => der.equals(certificate.der));
  const given = chainPem === undefined || chainPem.trim() === "" ? more : parseCertificatesPem(chainPem);
  // A client that has only the root needs the signing certificate, whether the operator thought of it or not.
  const isThere =
    isRoot ||
    given.some(({ subjectDer, spki }) => subjectDer.equals(certificate.subjectDer) && spki.equals(certificate.spki));
  return isThere ? given : [certificate, ...given];
}

function checkSigner(certificate: Certificate, key: KeyObject, trustDomains: readonly string[] | undefined): void {
  if (!isSameKey(key, certificate.publicKey)) throw bad("the key does not belong to the signing certificate");
  if (!certificate.basicConstraints.isCa) throw bad("the signing certificate is not a CA certificate");
  if (certificate.keyUsage?.includes("keyCertSign") === false)
    throw bad("the key usage of the signing certificate does not allow to sign certificates");
  if (trustDomains === undefined) return;
  for (const { type, value } of certificate.sans) {
    if (type !== "uri" || !value.startsWith("spiffe://")) continue;
    const trustDomain = new URL(sanOf(value).value).hostname;
    if (!trustDomains.includes(trustDomain))
      throw bad(`the signing certificate is of trust domain ${trustDomain}, the mesh of ${trustDomains.join(", ")}`);
  }
}

/**
 * May new material replace the old one while proxies trust the old roots?
 * @throws CaError CA_BAD_MATERIAL if not.
 */
export function checkSuccessor(old: SigningMaterial, next: SigningMaterial, multiRoot: boolean): void {
  const contains = (a: SigningMaterial, b: SigningMaterial) =>
    b.roots.every(({ der }) => a.roots.some((root) => root.der.equals(der)));
  const [growing, shrinking] = [contains(next, old), contains(old, next)];
  if (growing && shrinking) return;
  if (!multiRoot)
    throw bad(
      "the roots have changed, which needs ISTIO_MULTIROOT_MESH=true, or the new material in ROOT_CA_NEXT_DIR and `flotilla ca rotate`",
    );
  if (!growing && !shrinking) throw bad("neither of the old and the new roots contain the other");
}

/** The certificate whose end comes first on the way from a leaf to the root. */
export function firstToExpire({ certificate, chain, roots }: SigningMaterial): Certificate {
  const all = [certificate, ...chain.flatMap(parseCertificatesPem), ...roots];
  return all.reduce((first, next) => (next.notAfterMs < first.notAfterMs ? next : first));
}

function bad(reason: string): CaError {
  return new CaError("CA_BAD_MATERIAL", reason);
}
