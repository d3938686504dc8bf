/** A listening port without TLS. */
import { createServer } from "node:net";
import type { RawGrpcServer } from "@flotilla/raw-grpc";
import { type ListenOptions, listen } from "@flotilla/runtime";

export interface PlaintextPort extends AsyncDisposable {
  readonly port: number;
}

export interface PlaintextOptions extends ListenOptions {
  readonly server: RawGrpcServer;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs: number;
}

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function servePlaintext({ server, drainMs, ...at }: PlaintextOptions): Promise<PlaintextPort> {
  const injector = server.createConnectionInjector();
  const listener = createServer((socket) => {
    socket.setNoDelay(true);
    // A connection that breaks is the end of its streams, which they learn by themselves.
    socket.on("error", () => socket.destroy());
    injector.injectConnection(socket);
  });
  const port = await listen(listener, at);
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      injector.drain(drainMs);
      await closed;
      injector.destroy();
    },
  };
}
