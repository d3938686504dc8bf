/** The stable codes of `ProtoError`. */
export type ProtoErrorCode = "PROTO_UNKNOWN" | "PROTO_ENCODE" | "PROTO_DECODE" | "PROTO_JSON";

/** An error of a message; `cause` is the finding of the library, if any. */
export class ProtoError extends Error {
  override readonly name = "ProtoError";
  readonly code: ProtoErrorCode;

  constructor(code: ProtoErrorCode, what: string, cause?: unknown) {
    const reason = cause instanceof Error ? `: ${cause.message}` : "";
    super(`[${code}] ${what}${reason}`, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
