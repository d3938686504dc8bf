/** Failures of this package; a caller that is not who it claims to be is a refusal, not an error. */
export type AuthErrorCode =
  | "AUTH_BAD_IDENTITY"
  | "AUTH_BAD_JWKS"
  | "AUTH_BAD_RULE"
  | "AUTH_BAD_NETWORK"
  | "AUTH_BAD_ISSUER"
  | "AUTH_CA_AWAY"
  | "AUTH_CA_REFUSED"
  | "AUTH_BAD_MATERIAL"
  /** A signer of the cluster refuses, or does not answer in time. */
  | "AUTH_SIGNER_FAILED"
  /** PILOT_CERT_PROVIDER names none, or one that cannot be asked. */
  | "AUTH_BAD_PROVIDER";

/** A failure of this package, with a stable code; the message is `[CODE] what failed, with which value`. */
export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly code: AuthErrorCode;

  constructor(code: AuthErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
