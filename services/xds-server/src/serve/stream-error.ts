/** Why a stream ends: a gRPC status whose text tells the client's owner what to do. */
import { status } from "@grpc/grpc-js";

export class StreamError extends Error {
  override readonly name = "StreamError";
  readonly code: status;
  /** What it is counted as, where the code does not tell. */
  readonly reason: "size" | undefined;

  constructor(code: status, message: string, reason?: "size") {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export const streamEnd = {
  notReady: () => new StreamError(status.UNAVAILABLE, "not ready: the configuration is not complete yet"),
  tooMany: () => new StreamError(status.RESOURCE_EXHAUSTED, "too many new streams at once: try again later"),
  unauthenticated: (text = "authentication failure") => new StreamError(status.UNAUTHENTICATED, text),
  denied: (text: string) => new StreamError(status.PERMISSION_DENIED, text),
  invalid: (text: string) => new StreamError(status.INVALID_ARGUMENT, text),
  /** The text stays here: it may hold what the client must not see. */
  internal: () => new StreamError(status.INTERNAL, "internal error"),
  stuck: (ms: number) => new StreamError(status.RESOURCE_EXHAUSTED, `the client took nothing for ${ms} ms`),
  shutdown: () => new StreamError(status.UNAVAILABLE, "this server goes away: connect to another one"),
  moved: () => new StreamError(status.UNAVAILABLE, "this server sheds streams: connect again"),
} as const;
