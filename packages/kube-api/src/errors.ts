/** Errors of this package. */
export type KubeErrorCode =
  /** No cluster is named by the environment, or what names it cannot be read. */
  | "KUBE_CONFIG"
  /** The API server does not answer. */
  | "KUBE_AWAY"
  /** The object was changed or made by somebody else meanwhile. */
  | "KUBE_CONFLICT"
  /** Any other answer that is no success. */
  | "KUBE_REFUSED";

/**
 * A failure of the API server or of its configuration, with a stable code and the HTTP status where there was an answer.
 */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  /** Of the answer. */
  readonly status: number | undefined;

  constructor(code: KubeErrorCode, message: string, options?: ErrorOptions & { readonly status?: number }) {
    super(`[${code}] ${message}`, options);
    this.code = code;
    this.status = options?.status;
  }
}
