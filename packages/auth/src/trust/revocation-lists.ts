/** The revocation lists in force, by the bundle that they came with. One that cannot be read leaves those before in force. */
import { type Crl, PkiError, parseCrlsPem } from "@flotilla/pki";
import type { Logger } from "@flotilla/runtime";

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
