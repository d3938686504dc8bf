/** Failures of webhook. Those of one request become its answer; others end the service. */

export type WebhookErrorCode =
  /** A request that is no AdmissionReview. */
  | "ADMISSION_MALFORMED"
  /** The pod says something that cannot be followed. */
  | "INJECT_BAD_POD"
  /** The injection configuration cannot be used. */
  | "INJECT_BAD_CONFIG"
  /** A template fails on this pod. */
  | "INJECT_TEMPLATE_FAILED";

export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly code: WebhookErrorCode;
  /** Without the code: what the Kubernetes API shows to the user. */
  readonly reason: string;

  constructor(code: WebhookErrorCode, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}
