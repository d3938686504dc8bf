/** Why a certificate is not issued, and why signing material is not taken. */
export type CaErrorCode =
  | "CA_BAD_CSR"
  | "CA_BAD_TTL"
  | "CA_UNKNOWN_SIGNER"
  | "CA_NAME_REFUSED"
  | "CA_NOT_READY"
  | "CA_BUSY"
  | "CA_BAD_MATERIAL"
  | "CA_NODE_REFUSED"
  | "CA_ROTATION"
  | "CA_BAD_BUNDLE"
  | "CA_SIGNER_FAILED";

export class CaError extends Error {
  override readonly name = "CaError";
  readonly code: CaErrorCode;
  /** The sentence without the code. */
  readonly reason: string;

  constructor(code: CaErrorCode, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}
