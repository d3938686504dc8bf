/** Does a certificate lead to a root that is trusted? A path is searched, so cross-signed and renewed CAs are found. */
import { PkiError } from "../errors.ts";
import { oids } from "../oids.ts";
import { type Certificate, isSelfIssued, verifySignature } from "./certificate.ts";

/** A leaf, what may lie between, and the roots that are trusted. */
export interface ChainRequest {
  readonly leaf: Certificate;
  readonly intermediates: readonly Certificate[];
  readonly roots: readonly Certificate[];
  readonly nowMs: number;
  /** Uses the leaf must allow; any when absent. */
  readonly usage?: "server" | "client";
}

/** Longer paths do not occur; the bound keeps a bag of cross-signed certificates from being searched for ever. */
const longestPath = 8;

/** The extensions that are understood: a critical one that is not here refuses its certificate (RFC 5280, 4.2). */
const understood: ReadonlySet<string> = new Set([
  oids.basicConstraints,
  oids.keyUsage,
  oids.extKeyUsage,
  oids.subjectAltName,
  oids.subjectKeyIdentifier,
  oids.authorityKeyIdentifier,
]);

/**
 * From the leaf to a root, both included.
 * @throws PkiError PKI_UNTRUSTED with the reason that comes closest.
 */
export function verifyChain(request: ChainRequest): readonly Certificate[] {
  const { leaf, usage, nowMs } = request;
  const problem = unfit(leaf, nowMs) ?? wrongUsage(leaf, usage);
  if (problem !== undefined) throw untrusted(leaf, problem);
  const failures: string[] = [];
  const path = extend([leaf], request, failures);
  if (path === undefined) throw untrusted(leaf, failures[0] ?? "no trusted root signed it");
  return path;
}

function extend(
  path: readonly Certificate[],
  request: ChainRequest,
  failures: string[],
): readonly Certificate[] | undefined {
  const last = path.at(-1);
  if (last === undefined || path.length > longestPath) return undefined;
  // A certificate that is itself trusted ends the path: an intermediate may be a trust anchor.
  if (request.roots.some(({ der }) => der.equals(last.der))) return path;
  for (const issuer of [...request.roots, ...request.intermediates]) {
    if (!issuer.subjectDer.equals(last.issuerDer) || path.some(({ der }) => der.equals(issuer.der))) continue;
    const problem = unfit(issuer, request.nowMs) ?? cannotSign(issuer, path) ?? notSignedBy(last, issuer);
    if (problem !== undefined) {
      failures.push(`issuer ${describe(issuer)}: ${problem}`);
      continue;
    }
    const longer = extend([...path, issuer], request, failures);
    if (longer !== undefined) return longer;
  }
  return undefined;
}

function unfit(certificate: Certificate, nowMs: number): string | undefined {
  if (nowMs < certificate.notBeforeMs) return `not valid before ${new Date(certificate.notBeforeMs).toISOString()}`;
  if (nowMs > certificate.notAfterMs) return `expired at ${new Date(certificate.notAfterMs).toISOString()}`;
  const unknown = certificate.extensions.find(({ critical, id }) => critical && !understood.has(id));
  return unknown && `critical extension ${unknown.id} is not understood`;
}

function cannotSign(issuer: Certificate, path: readonly Certificate[]): string | undefined {
  const { isCa, pathLength } = issuer.basicConstraints;
  if (!isCa) return "not a CA certificate";
  if (issuer.keyUsage?.includes("keyCertSign") === false) return "its key usage does not allow to sign certificates";
  // RFC 5280, 4.2.1.9: the leaf and self-issued certificates do not count.
  const below = path.slice(1).filter((certificate) => !isSelfIssued(certificate)).length;
  return pathLength !== undefined && below > pathLength ? `its path length ${pathLength} is exceeded` : undefined;
}

function notSignedBy(certificate: Certificate, issuer: Certificate): string | undefined {
  try {
    verifySignature(certificate, issuer);
    return undefined;
  } catch (cause) {
    if (cause instanceof PkiError) return cause.message;
    throw cause;
  }
}

function wrongUsage({ extKeyUsage }: Certificate, usage: "server" | "client" | undefined): string | undefined {
  if (usage === undefined || extKeyUsage === undefined || extKeyUsage.includes(oids.anyExtendedKeyUsage))
    return undefined;
  return extKeyUsage.includes(usage === "server" ? oids.serverAuth : oids.clientAuth)
    ? undefined
    : `not for use as ${usage}`;
}

/** For messages: the most specific name of the certificate. */
export function describe({ subject, sans, serial }: Certificate): string {
  return sans[0]?.value ?? subject.commonName ?? subject.organization ?? `serial ${serial}`;
}

function untrusted(leaf: Certificate, why: string): PkiError {
  return new PkiError("PKI_UNTRUSTED", `certificate ${describe(leaf)}: ${why}`);
}
