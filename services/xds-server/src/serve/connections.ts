/** A listening port whose sockets are known by their peer, so that a client that does not read can be cut off. */
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { type ListenOptions, listen } from "@flotilla/runtime";
import { type Server, ServerCredentials } from "@grpc/grpc-js";

export interface Connections extends AsyncDisposable {
  readonly port: number;
  destroy(peer: string): void;
}

export interface ConnectionsOptions extends ListenOptions {
  readonly server: Server;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs: number;
}

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function servePlaintext({ server, drainMs, ...at }: ConnectionsOptions): Promise<Connections> {
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new SocketsByPeer();
  const listener: NetServer = createServer((socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    injector.injectConnection(socket);
  });
  const port = await listen(listener, at);
  return {
    port,
    destroy: (peer) => sockets.destroy(peer),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      injector.drain(drainMs);
      const timer = setTimeout(() => sockets.destroyAll(), drainMs);
      await closed;
      clearTimeout(timer);
      injector.destroy();
    },
  };
}

export class SocketsByPeer {
  readonly #sockets = new Map<string, Socket>();

  add(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#sockets.set(peer, socket);
    socket.once("close", () => this.#sockets.delete(peer));
    // A connection that breaks is the end of its streams, which they learn by themselves.
    socket.on("error", () => socket.destroy());
  }

  destroy(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }

  destroyAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}
