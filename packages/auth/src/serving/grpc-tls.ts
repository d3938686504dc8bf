/**
 * TLS in front of a gRPC server: a client certificate is asked for but not needed (a token is as good), one that does not
 * verify ends the connection, and the server's own certificate can be replaced while connections stay open.
 */
import type { AddressInfo, Socket } from "node:net";
import { createServer, type PeerCertificate, type TLSSocket } from "node:tls";
import { type ListenOptions, type Logger, listen } from "@flotilla/runtime";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { TlsMaterial } from "./material.ts";
import { createPacedListener } from "./paced-listener.ts";

export interface GrpcTlsOptions extends ListenOptions {
  /** Of grpc-js, or of packages/raw-grpc. */
  readonly server: Pick<Server, "createConnectionInjector">;
  readonly material: TlsMaterial;
  readonly log: Logger;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs?: number;
}

export interface GrpcTls extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  reload(material: TlsMaterial): void;
}

const handshakeMs = 10_000;
/** One costs about a millisecond. */
const maxHandshakes = 8;
const maxWaitingHandshakes = 20_000;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveGrpcTls(options: GrpcTlsOptions): Promise<GrpcTls> {
  const { server, material, log, drainMs = 2000 } = options;
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const sockets = new Set<Socket>();
  /** The TLS server does not tell which socket a connection came from; its two ends do. */
  const handshakes = new Map<string, () => void>();
  const tls = createServer({
    ...contextOf(material),
    ALPNProtocols: ["h2"],
    requestCert: true,
    // Checked below: no certificate is allowed, a bad one is not.
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
  });
  tls.on("secureConnection", (socket) => {
    handshakes.get(nameOf(socket))?.();
    const hasCertificate = rememberCertificate(socket);
    if (!socket.authorized && hasCertificate) {
      const { remoteAddress, authorizationError } = socket;
      log.warn("client certificate refused", { remoteAddress, reason: String(authorizationError) });
      socket.destroy();
      return;
    }
    injector.injectConnection(socket);
  });
  tls.on("tlsClientError", (error, { remoteAddress }) =>
    log.debug("handshake failed", { remoteAddress, reason: error.message }),
  );
  const listener = createPacedListener({
    maxStarting: maxHandshakes,
    startingMs: 100,
    maxWaiting: maxWaitingHandshakes,
    onConnection: (socket, started) => {
      const name = nameOf(socket);
      sockets.add(socket);
      handshakes.set(name, started);
      socket.once("close", () => {
        sockets.delete(socket);
        handshakes.delete(name);
      });
      tls.emit("connection", socket);
    },
    onOverflow: (remoteAddress) => log.warn("too many handshakes wait, connection closed", { remoteAddress }),
  });
  await listen(listener.server, options);
  return {
    port: (listener.server.address() as AddressInfo).port,
    reload: (next) => tls.setSecureContext(contextOf(next)),
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      listener.server.close(() => resolve());
      listener.closeWaiting();
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

/**
 * gRPC asks for the certificate with each call, which costs a tenth of a millisecond each time; it stays the same as long as
 * the connection does. Only its bytes are kept. False: there is none.
 */
function rememberCertificate(socket: TLSSocket): boolean {
  const { raw } = socket.getPeerCertificate();
  const shown = (raw === undefined ? {} : { raw }) as PeerCertificate;
  Object.assign(socket, { getPeerCertificate: () => shown });
  return raw !== undefined;
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function contextOf({ keyPem, chainPem, rootsPem }: TlsMaterial) {
  return { key: keyPem, cert: chainPem, ca: rootsPem, minVersion: "TLSv1.2", honorCipherOrder: true } as const;
}
