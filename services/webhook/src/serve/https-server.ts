/** The HTTPS server: bodies with a bound, a certificate that is replaced while connections stay open, an end that waits for answers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { type ListenOptions, type Logger, listen, readBody } from "@flotilla/runtime";
import { type ClientRule, clientRefusal } from "./client-certificate.ts";

export interface KeyPair {
  readonly keyPem: string;
  /** The certificate first, then those that lead to the root. */
  readonly chainPem: string;
}

export interface HttpsRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface HttpsReply {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

export interface HttpsOptions extends ListenOptions {
  readonly keyPair: KeyPair;
  readonly log: Logger;
  /** Who is answered, /ready excepted; undefined: everybody. */
  readonly clients?: ClientRule | undefined;
  readonly answer: (request: HttpsRequest) => HttpsReply | Promise<HttpsReply>;
  /** How long answers may take after the end was asked for. */
  readonly drainMs?: number;
}

export interface HttpsServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  reload(keyPair: KeyPair): void;
}

/** An AdmissionReview holds an object twice, and the Kubernetes API takes objects of 3 MiB. */
const maxBodyBytes = 8 * 1024 * 1024;

/** A connection that is silent for longer is closed. */
const handshakeMs = 10_000;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveHttps(options: HttpsOptions): Promise<HttpsServer> {
  const { keyPair, log, clients, answer, drainMs = 5000 } = options;
  const tls = { ...contextOf(keyPair, clients), requestCert: clients !== undefined, handshakeTimeout: handshakeMs };
  // Who shows none, or a bad one, learns it from the answer.
  const server = createServer({ ...tls, rejectUnauthorized: false }, (request, response) => {
    const refusal = clients && request.url !== "/ready" && clientRefusal(request.socket as TLSSocket, clients);
    if (typeof refusal === "string") {
      log.warn("caller refused", { remoteAddress: request.socket.remoteAddress, reason: refusal });
      send(response, plain(403, refusal));
      return;
    }
    handle(request, answer).then(
      (reply) => send(response, reply),
      (error: unknown) => {
        log.error("request failed", { path: request.url, error });
        send(response, plain(500, "internal error"));
      },
    );
  });
  server.on("tlsClientError", (error, socket) => {
    log.debug("handshake failed", { remoteAddress: socket.remoteAddress, reason: error.message });
  });
  const port = await listen(server, options);
  return {
    port,
    reload: (next) => server.setSecureContext(contextOf(next, clients)),
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      const timer = setTimeout(() => server.closeAllConnections(), drainMs);
      await promise;
      clearTimeout(timer);
    },
  };
}

export function plain(status: number, text: string): HttpsReply {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

export function json(value: unknown): HttpsReply {
  return { status: 200, contentType: "application/json", text: JSON.stringify(value) };
}

async function handle(request: IncomingMessage, answer: HttpsOptions["answer"]): Promise<HttpsReply> {
  const body = await readBody(request, maxBodyBytes);
  if (body === undefined) return plain(413, `the body is larger than ${maxBodyBytes} bytes`);
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  return answer({ method: request.method ?? "GET", path, contentType: request.headers["content-type"] ?? "", body });
}

function send(response: ServerResponse, { status, contentType, text }: HttpsReply): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

function contextOf({ keyPem, chainPem }: KeyPair, clients: ClientRule | undefined) {
  const own = { key: keyPem, cert: chainPem, minVersion: "TLSv1.2", honorCipherOrder: true } as const;
  const ca = clients?.caPem();
  return ca === undefined ? own : { ...own, ca };
}
