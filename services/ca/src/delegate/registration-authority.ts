/**
 * Registration authority: the caller is proven here, a signer of Kubernetes signs. The signer signs the content of the request, so the
 * request must hold exactly the names that the caller may have, and the signer's answer is checked before it is handed out.
 */
import {
  type Certificate,
  type Csr,
  certificatePem,
  oids,
  PkiError,
  parseCertificatesPem,
  type San,
  verifyChain,
} from "@flotilla/pki";
import { CaError } from "../errors.ts";
import { type Issued, readCsr } from "../sign/issue-workload.ts";

export interface DelegateOptions {
  /** Signs for requests that name no signer. */
  readonly defaultSigner: string | undefined;
  /** Of the signers that requests may name. */
  readonly signerDomain: string | undefined;
  /** PEM of the roots of a signer; undefined if none are known. */
  readonly rootsOf: (signer: string) => string | undefined;
  /** PEM of a certificate and what leads from it to the root. @throws CaError CA_SIGNER_FAILED */
  readonly request: (call: {
    readonly signer: string;
    readonly csrPem: string;
    readonly ttlMs: number;
  }) => Promise<string>;
  readonly nowMs: () => number;
}

export interface DelegatedRequest {
  readonly csrPem: string;
  readonly identity: string;
  readonly namesFor: (csr: Csr) => readonly San[];
  readonly ttlMs: number;
}

/**
 * The signer of a request: `domain/name`. Undefined: we sign ourselves.
 * differs: istiod with its own CA ignores the name, and the workload gets a certificate of another root than it asked for.
 * @throws CaError CA_UNKNOWN_SIGNER
 */
export function signerOf(signer: unknown, { defaultSigner, signerDomain }: DelegateOptions): string | undefined {
  if (signer === undefined || signer === "") return defaultSigner;
  if (typeof signer !== "string") throw new CaError("CA_UNKNOWN_SIGNER", "the signer is not a text");
  if (signerDomain === undefined)
    throw new CaError("CA_UNKNOWN_SIGNER", `signer ${JSON.stringify(signer)}: CERT_SIGNER_DOMAIN is not set`);
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/i.test(signer))
    throw new CaError("CA_UNKNOWN_SIGNER", `signer ${JSON.stringify(signer)}`);
  return `${signerDomain}/${signer}`;
}

/** @throws CaError CA_BAD_CSR, CA_NAME_REFUSED, CA_SIGNER_FAILED, CA_UNKNOWN_SIGNER */
export async function issueByDelegate(
  { csrPem, identity, namesFor, ttlMs }: DelegatedRequest,
  signer: string,
  options: DelegateOptions,
): Promise<Issued> {
  const rootsPem = options.rootsOf(signer);
  if (rootsPem === undefined) throw new CaError("CA_UNKNOWN_SIGNER", `no roots are known for signer ${signer}`);
  const csr = readCsr(csrPem);
  const sans: readonly San[] = [{ type: "uri", value: identity }, ...namesFor(csr)];
  checkRequest(csr, sans);
  const chainPem = await options.request({ signer, csrPem, ttlMs });
  try {
    const [leaf, ...intermediates] = parseCertificatesPem(chainPem);
    if (leaf === undefined) throw failed(signer, "it sent no certificate");
    checkAnswer(leaf, csr, sans, signer);
    verifyChain({ leaf, intermediates, roots: parseCertificatesPem(rootsPem), nowMs: options.nowMs() });
    const chain = [leaf, ...intermediates].map(certificatePem);
    return { chain: [...chain, rootsPem], csr, sans, notAfterMs: leaf.notAfterMs, serial: leaf.serial };
  } catch (cause) {
    if (cause instanceof PkiError) throw failed(signer, `its certificate cannot be used: ${cause.message}`, cause);
    throw cause;
  }
}

/** Extensions that a request may ask for: names and ends of a connection. */
const harmless: ReadonlySet<string> = new Set([oids.subjectAltName, oids.keyUsage, oids.extKeyUsage]);

/** The signer takes names and more from the request. @throws CaError CA_NAME_REFUSED, CA_BAD_CSR */
function checkRequest({ sans, extensions, subject }: Csr, allowed: readonly San[]): void {
  if (textOf(sans) !== textOf(allowed))
    throw new CaError("CA_NAME_REFUSED", "the names in the request are not those of the caller");
  if (subject.commonName !== undefined && !allowed.some(({ value }) => value === subject.commonName))
    throw new CaError("CA_NAME_REFUSED", "the subject of the request is not a name of the caller");
  const refused = extensions.find(({ id }) => !harmless.has(id));
  if (refused !== undefined) throw new CaError("CA_BAD_CSR", `the request asks for the extension ${refused.id}`);
}

function checkAnswer(leaf: Certificate, csr: Csr, sans: readonly San[], signer: string): void {
  if (!leaf.spki.equals(csr.spki)) throw failed(signer, "its certificate is for another key");
  if (textOf(leaf.sans) !== textOf(sans)) throw failed(signer, "its certificate is for other names");
  if (leaf.basicConstraints.isCa) throw failed(signer, "its certificate is one of a CA");
}

function textOf(sans: readonly San[]): string {
  return sans
    .map(({ type, value }) => `${type} ${value}`)
    .sort()
    .join("\n");
}

function failed(signer: string, reason: string, cause?: unknown): CaError {
  return new CaError("CA_SIGNER_FAILED", `signer ${signer}: ${reason}`, { cause });
}
