/** What a pod, a Gateway or the injection configuration cannot be followed for. */

export type InjectionErrorCode =
  /** The pod says something that cannot be followed. */
  | "INJECT_BAD_POD"
  /** What a user changes of a Gateway's deployment cannot be followed. */
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
