/** The wire of a stream over a gRPC call. */
import type { RawCall } from "@flotilla/raw-grpc";
import type { Wire } from "./stream-context.ts";

export function callWire(call: RawCall): Wire {
  return {
    peer: call.peer,
    write: (frame) => call.write(frame),
    end: ({ code, message }) => call.end({ code, details: message }),
    destroy: () => call.cutConnection(),
  };
}
