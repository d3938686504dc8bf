/** Errors of this package. */
export type BusErrorCode = "BUS_PUBLISH" | "BUS_CLOSED" | "BUS_CONNECT" | "BUS_BAD_EVENT" | "BUS_SEALED" | "BUS_FORGED";

/** A failure of the bus, with a stable code; the message is `[CODE] what failed, with which value`. */
export class BusError extends Error {
  override readonly name = "BusError";
  readonly code: BusErrorCode;

  constructor(code: BusErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
