/** Proof by the client certificate of the connection: its SPIFFE URIs. */
import { type Certificate, PkiError, parseCertificate, spiffeIds } from "@flotilla/pki";
import { type Authenticator, refused, type Verdict } from "./authenticator.ts";

export interface ClientCertificateOptions {
  readonly nowMs: () => number;
  /** Taken back by its issuer. */
  readonly isRevoked?: (certificate: Certificate) => boolean;
}

export function clientCertificateAuthenticator({ nowMs, isRevoked }: ClientCertificateOptions): Authenticator {
  const name = "client-certificate";
  return {
    name,
    authenticate: async ({ peerCertificate }) =>
      peerCertificate === undefined
        ? refused("no certificate")
        : readCertificate(peerCertificate, name, nowMs(), isRevoked),
  };
}

function readCertificate(
  der: Buffer,
  authenticator: string,
  nowMs: number,
  isRevoked: ClientCertificateOptions["isRevoked"],
): Verdict {
  try {
    const certificate = parseCertificate(der);
    const { sans, notAfterMs, serial } = certificate;
    if (isRevoked?.(certificate) === true) return refused(`the certificate with serial ${serial} is revoked`);
    // A connection may live longer than the certificate that it was opened with.
    if (nowMs > notAfterMs) return refused("the certificate has expired since the connection was opened");
    const identities = spiffeIds(sans);
    const [principal] = identities;
    if (principal === undefined) return refused("the certificate has no SPIFFE identity");
    return { authenticated: true, authenticator, identities, principal };
  } catch (cause) {
    if (cause instanceof PkiError) return refused(cause.message);
    throw cause;
  }
}
