/** Failures of a question to Consul. */
export type ConsulErrorCode = "CONSUL_UNREACHABLE" | "CONSUL_REFUSED" | "CONSUL_ANSWER";

/** A question that Consul did not answer, with a stable code. */
export class ConsulError extends Error {
  override readonly name = "ConsulError";
  readonly code: ConsulErrorCode;

  constructor(code: ConsulErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
