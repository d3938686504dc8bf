/** Failures of this package; a caller that is not who it claims to be is a refusal, not an error. */
export type AuthErrorCode =
  | "AUTH_BAD_IDENTITY"
  | "AUTH_BAD_JWKS"
  | "AUTH_BAD_RULE"
  | "AUTH_BAD_NETWORK"
  | "AUTH_BAD_ISSUER"
  | "AUTH_CA_AWAY"
  | "AUTH_CA_REFUSED"
  | "AUTH_BAD_MATERIAL";

export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly code: AuthErrorCode;

  constructor(code: AuthErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
