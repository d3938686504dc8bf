/**
 * TLS in front of a gRPC server: a client certificate is asked for but not needed (a token is as good), one that does not
 * verify ends the connection, and the server's own certificate can be replaced while connections stay open.
 */
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { type ListenOptions, type Logger, listen } from "@flotilla/runtime";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { TlsMaterial } from "./material.ts";

export interface GrpcTlsOptions extends ListenOptions {
  readonly server: Server;
  readonly material: TlsMaterial;
  readonly log: Logger;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs?: number;
  /** Told of each connection whose handshake is done, so that its owner can cut it. */
  readonly onConnection?: (socket: TLSSocket) => void;
}

export interface GrpcTls extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  reload(material: TlsMaterial): void;
}

const handshakeMs = 10_000;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveGrpcTls(options: GrpcTlsOptions): Promise<GrpcTls> {
  const { server, material, log, drainMs = 2000, onConnection } = options;
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new Set<TLSSocket>();
  const listener = createServer({
    ...contextOf(material),
    ALPNProtocols: ["h2"],
    requestCert: true,
    // Checked below: no certificate is allowed, a bad one is not.
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
  });
  listener.on("secureConnection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (!socket.authorized && socket.getPeerCertificate().raw !== undefined) {
      const { remoteAddress, authorizationError } = socket;
      log.warn("client certificate refused", { remoteAddress, reason: String(authorizationError) });
      socket.destroy();
      return;
    }
    onConnection?.(socket);
    injector.injectConnection(socket);
  });
  listener.on("tlsClientError", (error, { remoteAddress }) =>
    log.debug("handshake failed", { remoteAddress, reason: error.message }),
  );
  await listen(listener, options);
  return {
    port: (listener.address() as AddressInfo).port,
    reload: (next) => listener.setSecureContext(contextOf(next)),
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      listener.close(() => resolve());
      injector.drain(drainMs);
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, drainMs);
      await promise;
      clearTimeout(timer);
      injector.destroy();
    },
  };
}

function contextOf({ keyPem, chainPem, rootsPem }: TlsMaterial) {
  return { key: keyPem, cert: chainPem, ca: rootsPem, minVersion: "TLSv1.2", honorCipherOrder: true } as const;
}
