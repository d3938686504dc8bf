/** An HTTP back end that reports itself as an echo server does, and records the requests that reached it: the answers to copies are not sent to the client. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Names a request, so that its copies are recognized. */
export const idHeader = "x-id";

export interface RecordingBackend extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  /** Paths of the requests with this id. */
  pathsOf(id: string): readonly string[];
  forget(): void;
}

export async function startRecordingBackend(name: string): Promise<RecordingBackend> {
  const reached = new Map<string, string[]>();
  const server = createServer(({ headers, url: path = "/" }, response) => {
    const id = String(headers[idHeader] ?? "");
    reached.set(id, [...(reached.get(id) ?? []), path]);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ version: name, path, headers }));
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    name,
    port: (server.address() as AddressInfo).port,
    pathsOf: (id) => reached.get(id) ?? [],
    forget: () => reached.clear(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
