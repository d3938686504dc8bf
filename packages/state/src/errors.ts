/** Errors of this package. */
export type StateErrorCode = "STATE_FORMAT" | "STATE_DAMAGED" | "STATE_CONNECT" | "STATE_AWAY";

export class StateError extends Error {
  override readonly name = "StateError";
  readonly code: StateErrorCode;

  constructor(code: StateErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
