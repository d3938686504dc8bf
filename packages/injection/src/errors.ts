/** Errors of a pod, a Gateway or the injection configuration that cannot be followed. */

export type InjectionErrorCode =
  /** The pod contains a request that cannot be followed. */
  | "INJECT_BAD_POD"
  /** A user's change of a Gateway's deployment cannot be followed. */
  | "INJECT_BAD_GATEWAY"
  /** The injection configuration cannot be used. */
  | "INJECT_BAD_CONFIG"
  /** A template fails on this object. */
  | "INJECT_TEMPLATE_FAILED";

export class InjectionError extends Error {
  override readonly name = "InjectionError";
  readonly code: InjectionErrorCode;
  /** Without the code: what the Kubernetes API shows to the user. */
  readonly reason: string;

  constructor(code: InjectionErrorCode, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}
