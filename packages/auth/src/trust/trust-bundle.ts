/** The roots that the mesh trusts, as ca tells them on the bus: one object of the kind TrustBundle. */
import { certificatePem, parseCertificatesPem, rootId } from "@flotilla/pki";

export const trustBundleKind = "TrustBundle";

export interface TrustedRoot {
  readonly id: string;
  readonly pem: string;
}

export interface TrustBundleSpec {
  /**
   * In the order of the PEM, the signer's first: agents renew their certificate when the text of the bundle changes, so a rotation
   * that goes over to the next root is followed at once.
   */
  readonly roots: readonly TrustedRoot[];
  /** PEM of the revocation lists of the CAs that sign; absent where there are none. */
  readonly crls?: string;
}

/** @throws PkiError when a block is not a certificate. */
export function trustBundleOf(pem: string, crlPem = ""): TrustBundleSpec {
  const byId = new Map(parseCertificatesPem(pem).map((root) => [rootId(root), certificatePem(root)]));
  const roots = [...byId].map(([id, text]) => ({ id, pem: text }));
  return { roots, ...(crlPem !== "" && { crls: crlPem }) };
}
