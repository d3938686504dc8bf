/** Errors of this package. */
export type ServersErrorCode = "SERVER_NOT_FOUND" | "SERVER_FAILED" | "SERVER_BUSY";

/** A server that cannot be found or started, with a stable code. */
export class ServersError extends Error {
  override readonly name = "ServersError";
  readonly code: ServersErrorCode;

  constructor(code: ServersErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
