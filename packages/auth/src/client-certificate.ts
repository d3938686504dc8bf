/** Proof by the client certificate of the connection: its SPIFFE URIs. */
import { type Certificate, PkiError, parseCertificate, spiffeIds } from "@flotilla/pki";
import { type Authenticator, refused, type Verdict } from "./authenticator.ts";

/** The clock, and the revocation lists in force. */
export interface ClientCertificateOptions {
  readonly nowMs: () => number;
  /** Taken back by its issuer. */
  readonly isRevoked?: (certificate: Certificate) => boolean;
}

/**
 * Accepts a verified client certificate that is in its validity period, not revoked, and has a SPIFFE URI; the first URI
 * is the principal.
 */
export function clientCertificateAuthenticator({ nowMs, isRevoked }: ClientCertificateOptions): Authenticator {
  const name = "client-certificate";
  /** A connection shows the same bytes with each call. */
  const parsed = new WeakMap<Buffer, Certificate>();
  const parse = (der: Buffer): Certificate => {
    const certificate = parsed.get(der) ?? parseCertificate(der);
    parsed.set(der, certificate);
    return certificate;
  };
  const judge = (der: Buffer): Verdict => {
    try {
      const certificate = parse(der);
      if (isRevoked?.(certificate) === true)
        return refused(`the certificate with serial ${certificate.serial} is revoked`);
      return verdictOf(certificate, name, nowMs());
    } catch (cause) {
      if (cause instanceof PkiError) return refused(cause.message);
      throw cause;
    }
  };
  return {
    name,
    authenticate: async ({ peerCertificate }) =>
      peerCertificate === undefined ? refused("no certificate") : judge(peerCertificate),
  };
}

function verdictOf({ sans, notAfterMs }: Certificate, authenticator: string, nowMs: number): Verdict {
  // A connection may live longer than the certificate that it was opened with.
  if (nowMs > notAfterMs) return refused("the certificate has expired since the connection was opened");
  const identities = spiffeIds(sans);
  const [principal] = identities;
  if (principal === undefined) return refused("the certificate has no SPIFFE identity");
  return { authenticated: true, authenticator, identities, principal };
}
