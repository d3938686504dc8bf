/** Bodies of HTTP requests, with a bound. */
import type { IncomingMessage } from "node:http";
import { paceOf } from "./body-pace.ts";
import { heldBodiesOf } from "./held-bodies.ts";

/** So much is dropped of a body that is too large; then it is read no more, and a caller that goes on is cut off. */
const maxDroppedBytes = 64 * 1024 * 1024;
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
  takePieces(request, maxBytes + maxDroppedBytes, (chunk) => {
    size += chunk.byteLength;
    if (!isRefused && size > maxBytes) refuse("too large");
    if (isRefused) return false;
    chunks.push(chunk);
    held?.take(request, chunk.byteLength);
    return true;
  });
  request.once("end", () => {
    held?.end(request);
    resolve(Buffer.concat(chunks));
  });
  request.once("error", reject);
  request.once("close", () => reject(new Error("the body ended too early")));
  return promise;
}

/** Drops a body that its handler left unread: after the answer Node would read the rest without a limit, as fast as it arrives. */
export function dropBody(request: IncomingMessage): void {
  request.on("error", () => undefined);
  takePieces(request, maxDroppedBytes, () => false);
  // Marks it as read: Node takes only what no handler has begun to read.
  request.read(0);
}

/** Reads a body at the pace of `BodyPace` and closes the connection after `maxBytes`. @param take returns whether the piece is kept */
function takePieces(request: IncomingMessage, maxBytes: number, take: (chunk: Buffer) => boolean): void {
  const pace = paceOf(request);
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (size > maxBytes) {
      pace?.leave(request);
      return cutOff(request);
    }
    if (take(chunk)) pace?.take(request, chunk.byteLength);
    else pace?.drop(request);
  });
}

function cutOff(request: IncomingMessage): void {
  request.pause();
  const timer = setTimeout(() => request.destroy(), cutOffAfterMs);
  request.once("close", () => clearTimeout(timer));
}
