/** Bodies of HTTP requests, with a bound. */
import type { IncomingMessage } from "node:http";

/** So much is dropped of a body that is too large; a caller that goes on is cut off. */
const maxDroppedBytes = 256 * 1024 * 1024;

/**
 * Undefined, at once, when it is larger than `maxBytes`, or says so: the caller is answered while the rest is dropped. Ending the loop over the
 * request's chunks instead would reset the connection under callers that read no answer before they have sent all, and under their next request.
 * Rejects when the body ends too early.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
  let chunks: Buffer[] = [];
  let size = 0;
  if (Number(request.headers["content-length"]) > maxBytes) resolve(undefined);
  request.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size <= maxBytes) chunks.push(chunk);
    else {
      chunks = [];
      resolve(undefined);
    }
    if (size > maxBytes + maxDroppedBytes) request.destroy();
  });
  request.once("end", () => resolve(Buffer.concat(chunks)));
  request.once("error", reject);
  request.once("close", () => reject(new Error("the body ended too early")));
  return promise;
}
