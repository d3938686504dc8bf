/** Failures of a question to Consul. */
export type ConsulErrorCode = "CONSUL_UNREACHABLE" | "CONSUL_REFUSED" | "CONSUL_ANSWER";

export class ConsulError extends Error {
  override readonly name = "ConsulError";
  readonly code: ConsulErrorCode;

  constructor(code: ConsulErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
