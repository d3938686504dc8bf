/** Failures around a service's work: its settings, its ports, its waits. */
export type RuntimeErrorCode =
  | "SETTINGS_INVALID"
  | "PORT_IN_USE"
  | "PORT_REFUSED"
  | "WAIT_EXPIRED"
  | "QUEUE_CLOSED"
  | "METRIC_INVALID"
  | "LOG_TARGET";

/** A failure of a process's frame, with a stable code; the message is `[CODE] what failed, with which value`. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
