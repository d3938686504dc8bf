/** Failures of webhook's own: they become the answer to one request. Those of an injection are InjectionError. */

export type WebhookErrorCode =
  /** A request that is no AdmissionReview. */
  "ADMISSION_MALFORMED";

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
