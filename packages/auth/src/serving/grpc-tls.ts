/**
 * TLS in front of a gRPC server: a client certificate is asked for but not needed (a token is as good), one that does not
 * verify ends the connection, and the server's own certificate can be replaced while connections stay open.
 */
import type { AddressInfo, Socket } from "node:net";
import { createServer, type PeerCertificate, type TLSSocket, type Server as TlsServer } from "node:tls";
import { defaultHandshakeLimits, type HandshakeLimits, paceHandshakes } from "@flotilla/http";
import {
  type Counter,
  type ListenOptions,
  type Logger,
  listen,
  type Metrics,
  refusedCallerLines,
  serverTlsParameters,
  type TlsPolicy,
} from "@flotilla/runtime";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { TlsMaterial } from "./material.ts";

/** The port, the gRPC server behind it, and the bounds of handshakes; `drainMs` is 2,000 unless given. */
export interface GrpcTlsOptions extends ListenOptions {
  /** Of grpc-js, or of packages/raw-grpc. */
  readonly server: Pick<Server, "createConnectionInjector">;
  readonly material: TlsMaterial;
  readonly log: Logger;
  /** Counts connections that were closed before their handshake was finished. */
  readonly dropped?: Counter<"reason"> | undefined;
  readonly limits?: Partial<HandshakeLimits>;
  /** No restriction unless given. */
  readonly policy?: TlsPolicy;
  /** How long calls may go on after the end was asked for. */
  readonly drainMs?: number;
}

/** A TLS port. Disposing of it closes the port, drains calls for `drainMs` and then destroys connections. */
export interface GrpcTls extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  reload(material: TlsMaterial): void;
}

const handshakeMs = 10_000;
/** Drops are logged once in this time. */
const quietMs = 10_000;

/** The counter for `GrpcTlsOptions.dropped`. */
export function droppedConnections(metrics: Metrics): Counter<"reason"> {
  return metrics.counter({
    name: "flotilla_tls_connections_dropped_total",
    help: "TLS connections closed before their handshake was finished, by reason",
    labels: ["reason"],
  });
}

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveGrpcTls(options: GrpcTlsOptions): Promise<GrpcTls> {
  const { server, log, limits, dropped, drainMs = 2000 } = options;
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const tls = createTlsServer(options, (socket) => injector.injectConnection(socket));
  let quietUntil = 0;
  const closeWaiting = paceHandshakes(tls, {
    ...defaultHandshakeLimits,
    ...limits,
    onDropped: (remoteAddress, reason) => {
      dropped?.add(1, { reason });
      if (performance.now() < quietUntil) return;
      quietUntil = performance.now() + quietMs;
      log.warn("connection closed before its TLS handshake", { remoteAddress, reason });
    },
  });
  const sockets = new Set<Socket>();
  tls.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await listen(tls, options);
  return {
    port: (tls.address() as AddressInfo).port,
    reload: (next) => tls.setSecureContext(contextOf(next, options.policy)),
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      tls.close(() => resolve());
      closeWaiting();
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

/** Verifies client certificates where there are any. */
function createTlsServer(
  { material, log, policy }: Pick<GrpcTlsOptions, "material" | "log" | "policy">,
  onConnection: (socket: TLSSocket) => void,
): TlsServer {
  const tls = createServer({
    ...contextOf(material, policy),
    ALPNProtocols: ["h2"],
    requestCert: true,
    // Checked below: no certificate is allowed, a bad one is not.
    rejectUnauthorized: false,
    handshakeTimeout: handshakeMs,
    pauseOnConnect: true,
  });
  const refused = refusedCallerLines();
  tls.on("secureConnection", (socket) => {
    const hasCertificate = rememberCertificate(socket);
    if (!socket.authorized && hasCertificate) {
      const { remoteAddress = "", authorizationError } = socket;
      refused.write(remoteAddress, (more) =>
        log.warn("client certificate refused", { remoteAddress, reason: String(authorizationError), ...more }),
      );
      socket.destroy();
      return;
    }
    onConnection(socket);
  });
  tls.on("tlsClientError", (error, { remoteAddress }) =>
    log.debug("handshake failed", { remoteAddress, reason: error.message }),
  );
  return tls;
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

function contextOf({ keyPem, chainPem, rootsPem }: TlsMaterial, policy: TlsPolicy = {}) {
  return { ...serverTlsParameters(policy), key: keyPem, cert: chainPem, ca: rootsPem };
}
