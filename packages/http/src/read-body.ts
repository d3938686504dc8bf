/** Bodies of HTTP requests, with a bound. */
import type { IncomingMessage } from "node:http";
import { heldBodiesOf } from "./held-bodies.ts";

/** So much is dropped of a body that is too large; then it is read no more, and a caller that goes on is cut off. */
const maxDroppedBytes = 256 * 1024 * 1024;
/** Closing at once would reset the connection, which takes away an answer that the caller has not read yet. */
const cutOffAfterMs = 5_000;

/** Why a body is not there: it is larger than the bound, or the server holds too many bytes of bodies now. */
export type BodyRefusal = "too large" | "busy";

/**
 * A refusal, at once, when the body is larger than `maxBytes`, or announces to be, or when the server's bodies are too many: the caller is
 * answered while the rest is dropped. Ending the loop over the request's chunks instead would reset the connection under callers that read
 * no answer before they have sent all, and under their next request. Rejects when the body ends too early.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | BodyRefusal> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | BodyRefusal>();
  const held = heldBodiesOf(request);
  let chunks: Buffer[] = [];
  let size = 0;
  let isRefused = false;
  const refuse = (reason: BodyRefusal): void => {
    chunks = [];
    isRefused = true;
    resolve(reason);
  };
  held?.begin(request, () => refuse("busy"));
  if (Number(request.headers["content-length"]) > maxBytes) refuse("too large");
  request.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > maxBytes + maxDroppedBytes) return cutOff(request);
    if (isRefused) return;
    if (size > maxBytes) return refuse("too large");
    chunks.push(chunk);
    held?.take(request, chunk.byteLength);
  });
  request.once("end", () => {
    held?.end(request);
    resolve(Buffer.concat(chunks));
  });
  request.once("error", reject);
  request.once("close", () => reject(new Error("the body ended too early")));
  return promise;
}

function cutOff(request: IncomingMessage): void {
  request.pause();
  const timer = setTimeout(() => request.destroy(), cutOffAfterMs);
  request.once("close", () => clearTimeout(timer));
}
