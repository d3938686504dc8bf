/** How a call ends. Numbers as in https://grpc.github.io/grpc/core/md_doc_statuscodes.html; those that this package uses by itself. */
export const grpcStatus = {
  ok: 0,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** The status at the end of a call. */
export interface CallStatus {
  readonly code: number;
  /** Shown to the client. */
  readonly details: string;
}

/** Ends a call with its code; the message is shown to the client. */
export class GrpcError extends Error implements CallStatus {
  override readonly name = "GrpcError";
  readonly code: number;
  /** `size`: a message over the limit. */
  readonly reason: "size" | undefined;

  constructor(code: number, details: string, reason?: "size") {
    super(details);
    this.code = code;
    this.reason = reason;
  }

  get details(): string {
    return this.message;
  }
}

/** The header `grpc-message` is percent-encoded UTF-8. */
export function encodeStatusMessage(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/gu, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}
