/** Errors of the API, in the form in which a Kubernetes API answers them. */
import type { StoreError, StoreErrorCode } from "@flotilla/model";

export interface Cause {
  readonly field: string;
  readonly message: string;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  /** Of the HTTP answer. */
  readonly status: number;
  /** Kubernetes' word for it: `NotFound`, `Conflict` … */
  readonly reason: string;
  readonly causes: readonly Cause[];

  constructor(status: number, reason: string, message: string, causes: readonly Cause[] = []) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.causes = causes;
  }
}

const reasons: Readonly<Record<StoreErrorCode, string>> = {
  STORE_CONFLICT: "Conflict",
  STORE_ALREADY_EXISTS: "AlreadyExists",
  STORE_NOT_FOUND: "NotFound",
  STORE_READ_ONLY: "MethodNotAllowed",
  STORE_BAD_KEY: "BadRequest",
  STORE_INVALID: "Invalid",
  STORE_TOO_LARGE: "RequestEntityTooLarge",
  STORE_BUSY: "TooManyRequests",
  STORE_AWAY: "ServiceUnavailable",
};

export function fromStore(error: StoreError): ApiError {
  return new ApiError(error.status, reasons[error.code], error.message.replace(/^\[\w+\] /, ""));
}

/** As kubectl and client libraries read it. */
export function statusOf({ status, reason, message, causes }: ApiError): unknown {
  const details = causes.map((cause) => ({ reason: "FieldValueInvalid", ...cause }));
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(details.length > 0 && { details: { causes: details } }),
    code: status,
  };
}
