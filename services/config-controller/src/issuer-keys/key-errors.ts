/** Why there are no keys of an issuer. */

/**
 * KEYS_UNREACHABLE: no connection, no name, an address that is not allowed, no answer in time. KEYS_UNUSABLE: an answer that holds no
 * keys that could be used.
 */
export type IssuerKeysErrorCode = "KEYS_UNREACHABLE" | "KEYS_UNUSABLE";

/** Its reason goes into the status of objects: it is the same for each attempt that fails alike, and names no address. */
export class IssuerKeysError extends Error {
  readonly code: IssuerKeysErrorCode;
  readonly reason: string;

  constructor(code: IssuerKeysErrorCode, reason: string, cause?: unknown) {
    super(`[${code}] ${reason}`, { cause });
    this.name = "IssuerKeysError";
    this.code = code;
    this.reason = reason;
  }
}

export function unreachable(reason: string, cause?: unknown): IssuerKeysError {
  return new IssuerKeysError("KEYS_UNREACHABLE", reason, cause);
}

/** No connection to who would be asked. */
export function notAsked(error: NodeJS.ErrnoException): IssuerKeysError {
  return unreachable(`cannot be asked: ${error.code ?? error.message}`, error);
}

export function unusable(reason: string, cause?: unknown): IssuerKeysError {
  return new IssuerKeysError("KEYS_UNUSABLE", reason, cause);
}
