/** A method of one request and one answer. */
import type { RawCall } from "./call.ts";
import { frameOf } from "./frame.ts";
import type { Handler } from "./server.ts";
import { GrpcError, grpcStatus } from "./status.ts";

/** `answer` rejects with a GrpcError to end the call with its status; with anything else the client learns nothing of it. */
export function unary(
  answer: (request: Buffer, call: RawCall, cancelled: AbortSignal) => Promise<Uint8Array>,
  onFailure: (error: unknown) => void,
): Handler {
  return (call) => {
    let request: Buffer | undefined;
    const cancelled = new AbortController();
    const reply = async (message: Buffer): Promise<void> => {
      const response = await answer(message, call, cancelled.signal);
      if (call.isClosed) return;
      // The end comes after it, whether it has left or not.
      call.write(frameOf(response), () => undefined);
      call.end({ code: grpcStatus.ok, details: "" });
    };
    const fail = (error: unknown): void => {
      if (!(error instanceof GrpcError)) onFailure(error);
      call.end(error instanceof GrpcError ? error : { code: grpcStatus.internal, details: "internal error" });
    };
    call.listen({
      onMessage: (message) => {
        if (request !== undefined) return fail(new GrpcError(grpcStatus.unimplemented, "more than one request"));
        request = message;
      },
      onEnd: () => {
        if (request === undefined) fail(new GrpcError(grpcStatus.internal, "no request"));
        else reply(request).catch(fail);
      },
      onCancelled: () => cancelled.abort(),
      onUnreadable: fail,
    });
  };
}
