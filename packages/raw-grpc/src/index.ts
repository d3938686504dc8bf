export { type CallListener, type Left, RawCall } from "./call.ts";
export { frameHeadBytes, frameOf, messageOf } from "./frame.ts";
export { type ConnectionInjector, type Handler, RawGrpcServer, type RawServerOptions } from "./server.ts";
export { type CallStatus, GrpcError, grpcStatus } from "./status.ts";
export { unary } from "./unary.ts";
