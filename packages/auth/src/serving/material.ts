/** What a TLS server of the control plane shows and trusts. */
import { isSameKey, PkiError, parseCertificatesPem, parsePrivateKey, verifyChain } from "@flotilla/pki";
import { AuthError } from "../errors.ts";

export interface TlsMaterial {
  readonly keyPem: string;
  /** The certificate first, then those that lead to the root, without it. */
  readonly chainPem: string;
  /** What client certificates must lead to. */
  readonly rootsPem: string;
}

/** Material that a server may use now: the key fits and the chain leads to a root. @throws AuthError AUTH_BAD_MATERIAL */
export function checkMaterial(
  { keyPem, chainPem, rootsPem }: TlsMaterial,
  nowMs: number,
): { readonly notAfterMs: number } {
  try {
    const [leaf, ...intermediates] = parseCertificatesPem(chainPem);
    if (leaf === undefined) throw new AuthError("AUTH_BAD_MATERIAL", "the chain is empty");
    if (!isSameKey(parsePrivateKey(keyPem), leaf.publicKey))
      throw new AuthError("AUTH_BAD_MATERIAL", "the key does not belong to the certificate");
    verifyChain({ leaf, intermediates, roots: parseCertificatesPem(rootsPem), nowMs, usage: "server" });
    return { notAfterMs: leaf.notAfterMs };
  } catch (cause) {
    if (cause instanceof PkiError) throw new AuthError("AUTH_BAD_MATERIAL", cause.message, { cause });
    throw cause;
  }
}
