/** Errors of bytes, keys, requests and certificates. */
export type PkiErrorCode =
  | "PKI_BAD_DER"
  | "PKI_BAD_PEM"
  | "PKI_BAD_KEY"
  | "PKI_BAD_CSR"
  | "PKI_BAD_CERTIFICATE"
  | "PKI_BAD_CRL"
  | "PKI_BAD_NAME"
  | "PKI_BAD_SAN"
  | "PKI_BAD_SIGNATURE"
  | "PKI_UNSUPPORTED_ALGORITHM"
  | "PKI_WEAK_KEY"
  | "PKI_UNTRUSTED";

export class PkiError extends Error {
  override readonly name = "PkiError";
  readonly code: PkiErrorCode;

  constructor(code: PkiErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
