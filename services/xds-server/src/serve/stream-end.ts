/** The reason for which a stream ends: a gRPC status whose text states the remedy for the client's owner. */
import { GrpcError } from "@flotilla/raw-grpc";
import { status } from "@grpc/grpc-js";

export const streamEnd = {
  notReady: () => new GrpcError(status.UNAVAILABLE, "not ready: the configuration is not complete yet"),
  tooMany: () => new GrpcError(status.RESOURCE_EXHAUSTED, "too many new streams at once: try again later"),
  unauthenticated: (text = "authentication failure") => new GrpcError(status.UNAUTHENTICATED, text),
  denied: (text: string) => new GrpcError(status.PERMISSION_DENIED, text),
  invalid: (text: string) => new GrpcError(status.INVALID_ARGUMENT, text),
  /** The text stays here: it may hold what the client must not see. */
  internal: () => new GrpcError(status.INTERNAL, "internal error"),
  overLimit: (text: string) => new GrpcError(status.RESOURCE_EXHAUSTED, text),
  stuck: (ms: number) => new GrpcError(status.RESOURCE_EXHAUSTED, `the client took nothing for ${ms} ms`),
  shutdown: () => new GrpcError(status.UNAVAILABLE, "this server shuts down: connect to another one"),
  moved: () => new GrpcError(status.UNAVAILABLE, "this server sheds streams: connect again"),
} as const;
