/**
 * The roots that the mesh trusts, as ca publishes them on the bus in one object of the kind TrustBundle, and the revocation
 * lists that it carries.
 */
import { type Crl, certificatePem, PkiError, parseCertificatesPem, parseCrlsPem, rootId } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";

/** The roots that the mesh trusts, as ca publishes them on the bus: one object of the kind TrustBundle. */
export const trustBundleKind = "TrustBundle";

/** A root certificate as PEM and the id of its key, see `rootId` of packages/pki. */
export interface TrustedRoot {
  readonly id: string;
  readonly pem: string;
}

/** The spec of a TrustBundle object. */
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

/** The revocation lists in force, by the bundle that they came with. One that cannot be read leaves those before in force. */
export class RevocationLists {
  readonly #log: Logger;
  readonly #byBundle = new Map<string, { readonly pem: string; readonly crls: readonly Crl[] }>();
  #crls: readonly Crl[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  get crls(): readonly Crl[] {
    return this.#crls;
  }

  /** `pem` empty: the bundle has none. True when other lists are in force now. */
  replace(bundle: string, pem: string): boolean {
    if ((this.#byBundle.get(bundle)?.pem ?? "") === pem) return false;
    try {
      const crls = pem === "" ? [] : parseCrlsPem(pem);
      this.#byBundle.set(bundle, { pem, crls });
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      this.#log.error("revocation lists refused, those before stay in force", { bundle, reason: error.message });
      return false;
    }
    this.#crls = [...this.#byBundle.values()].flatMap(({ crls }) => crls);
    const certificates = this.#crls.reduce((sum, { revoked }) => sum + revoked.size, 0);
    this.#log.info("revocation lists read", { bundle, certificates });
    return true;
  }
}
