/** Key, chain and roots of a TLS server or client of the control plane, in memory and in files. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isSameKey, PkiError, parseCertificatesPem, parsePrivateKey, verifyChain } from "@flotilla/pki";
import { AuthError } from "../errors.ts";
import { replaceFile } from "../private-file.ts";

/** Key, certificate and trusted roots of a TLS server or client, as PEM. */
export interface TlsMaterial {
  readonly keyPem: string;
  /** The certificate first, then those that lead to the root, without it. */
  readonly chainPem: string;
  /** Roots that client certificates must chain up to. */
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

/**
 * A certificate in files, named as in a Secret of type kubernetes.io/tls, for programs that read files: NATS, Redis, and their clients. The
 * key is written first: a reader during the write finds a key without its certificate and tries again.
 */
export async function writeCertificateFiles(
  directory: string,
  { keyPem, chainPem, rootsPem }: TlsMaterial,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await replaceFile(join(directory, "tls.key"), keyPem, 0o600);
  await replaceFile(join(directory, "tls.crt"), chainPem, 0o644);
  await replaceFile(join(directory, "ca.crt"), rootsPem, 0o644);
}
