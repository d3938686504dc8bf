/** A server of raw gRPC on a free port of this host. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { type ConnectionInjector, RawGrpcServer, type RawServerOptions } from "./server.ts";

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** Emits each connection. */
  readonly listener: Server;
  readonly injector: ConnectionInjector;
}

/** Listens when it resolves. */
export async function listen(options: RawServerOptions): Promise<Listening> {
  const injector = new RawGrpcServer(options).createConnectionInjector();
  const listener = createServer((socket) => injector.injectConnection(socket)).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    listener,
    injector,
    [Symbol.asyncDispose]: async () => {
      injector.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
