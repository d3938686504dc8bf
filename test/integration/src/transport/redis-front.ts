/**
 * TLS in front of a Redis that was built without: it asks for a client certificate and reads its files for each connection.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createSecureContext, createServer } from "node:tls";

export interface FrontOptions {
  readonly certificates: string;
  readonly socketPath: string;
  readonly port: number;
}

export async function startRedisFront({ certificates, socketPath, port }: FrontOptions): Promise<AsyncDisposable> {
  const read = (name: string): Buffer => readFileSync(join(certificates, name));
  const files = () => ({ cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt") });
  const ended = new AbortController();
  const server = createServer({
    ...files(),
    requestCert: true,
    rejectUnauthorized: true,
    SNICallback: (_, done) => done(null, createSecureContext(files())),
  });
  server.on("secureConnection", (socket) => {
    const inner = connect(socketPath);
    socket.pipe(inner).pipe(socket);
    socket.on("error", () => inner.destroy());
    inner.on("error", () => socket.destroy());
    ended.signal.addEventListener("abort", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    [Symbol.asyncDispose]: () => {
      ended.abort();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
