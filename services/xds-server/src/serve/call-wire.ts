/** The wire of a stream over a call of grpc-js. */
import type { ServerDuplexStream } from "@grpc/grpc-js";
import type { Wire } from "./stream-context.ts";

export type RawCall = ServerDuplexStream<Buffer, Buffer>;

export function callWire(call: RawCall, destroy: () => void): Wire {
  // An end of the call while bytes wait never reaches the callback of the write.
  const underWay = new Set<(reason: Error) => void>();
  call.once("cancelled", () => {
    for (const reject of underWay) reject(new Error("the client cancelled the stream"));
    underWay.clear();
  });
  return {
    peer: call.getPeer(),
    write: (bytes) =>
      new Promise((resolve, reject) => {
        underWay.add(reject);
        call.write(bytes, (error: Error | null | undefined) => {
          underWay.delete(reject);
          if (error) reject(error);
          else resolve();
        });
      }),
    end: (reason) => void call.emit("error", { code: reason.code, details: reason.message }),
    destroy,
  };
}
