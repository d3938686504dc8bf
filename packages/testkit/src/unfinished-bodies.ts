/** Requests whose bodies lack their last byte, as of a client that fills a server's memory with them. */
import type { ClientRequest, OutgoingHttpHeaders } from "node:http";

export interface HeldBodies extends Disposable {
  /** Status of the first answer. */
  readonly firstStatus: Promise<number | undefined>;
}

/**
 * Begins `count` requests, each with a body of `size` bytes.
 * @param begin opens a request with these headers beside its own, on a connection of its own
 */
export function holdBodies(
  count: number,
  size: number,
  begin: (headers: OutgoingHttpHeaders) => ClientRequest,
): HeldBodies {
  const answered = Promise.withResolvers<number | undefined>();
  const sent = Array.from({ length: count }, () => {
    const request = begin({ "content-length": size });
    request.once("response", ({ statusCode }) => answered.resolve(statusCode)).on("error", () => undefined);
    request.write(Buffer.alloc(size - 1, "x"));
    return request;
  });
  return {
    firstStatus: answered.promise,
    [Symbol.dispose]: () => {
      for (const request of sent) request.destroy();
    },
  };
}
