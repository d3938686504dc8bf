/** Errors of this package. */
export type StateErrorCode = "STATE_FORMAT" | "STATE_DAMAGED" | "STATE_CONNECT" | "STATE_AWAY";

/** A failure of the store, with a stable code; the message is `[CODE] what failed, with which value`. */
export class StateError extends Error {
  override readonly name = "StateError";
  readonly code: StateErrorCode;

  constructor(code: StateErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
