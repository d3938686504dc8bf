/** The HTTPS port: bodies with a bound, clients by their certificates, answers as texts. */
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { createHttpServer, type HttpAnswer, readBody, type ServerTls, sendText } from "@flotilla/http";
import { type ListenOptions, type Logger, listen, refusedCallerLines, type TlsPolicy } from "@flotilla/runtime";
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

export type HttpsReply = HttpAnswer;

export interface HttpsOptions extends ListenOptions {
  readonly keyPair: KeyPair;
  readonly log: Logger;
  /** The callers that are answered, /ready excepted; undefined: everybody. */
  readonly clients?: ClientRule | undefined;
  readonly answer: (request: HttpsRequest) => HttpsReply | Promise<HttpsReply>;
  /** How long answers may take after the end was asked for. */
  readonly drainMs?: number;
  readonly policy?: TlsPolicy;
}

export interface HttpsServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  reload(keyPair: KeyPair): void;
}

/** An AdmissionReview holds an object twice, and the Kubernetes API takes objects of 3 MiB. */
const maxBodyBytes = 8 * 1024 * 1024;
/** Of reviews that are being sent or answered: without a bound, slow bodies on all connections would take 32 GB. */
const maxHeldBytes = 128 * 1024 * 1024;
const maxHeldBytesOfAddress = 64 * 1024 * 1024;
/** API servers keep some connections each; a silent one makes room, so that no client's connections keep them out. */
const maxConnections = 4_096;
const maxConnectionsOfAddress = 1_024;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveHttps(options: HttpsOptions): Promise<HttpsServer> {
  const { keyPair, log, answer, drainMs = 5000, clients } = options;
  const refused = refusedCallerLines();
  const http = createHttpServer({
    tls: tlsOf(keyPair, options),
    drainMs,
    bounds: { maxPerAddress: maxConnectionsOfAddress, maxInAll: maxConnections },
    bodies: { maxPerAddress: maxHeldBytesOfAddress, maxInAll: maxHeldBytes },
    // A client without a certificate, or with a bad one, learns it from the answer.
    respond: async (request, response) => {
      const refusal = clients && request.url !== "/ready" && clientRefusal(request.socket as TLSSocket, clients);
      if (typeof refusal === "string") {
        const { remoteAddress = "" } = request.socket;
        refused.write(remoteAddress, (more) => log.warn("caller refused", { remoteAddress, reason: refusal, ...more }));
        sendText(response, plain(403, refusal));
        return;
      }
      sendText(response, await handle(request, answer));
    },
    failure: () => plain(500, "internal error"),
    onFailure: (error, request) => log.error("request failed", { path: request.url, error }),
    onHandshakeFailure: (error, remoteAddress) =>
      log.debug("handshake failed", { remoteAddress, reason: error.message }),
  });
  const port = await listen(http.server, options);
  return {
    port,
    reload: (next) => http.reload(tlsOf(next, options)),
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
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
  if (body === "too large") return plain(413, `the body is larger than ${maxBodyBytes} bytes`);
  if (body === "busy") return plain(503, "too many bytes of reviews are being sent, try again later");
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  return answer({ method: request.method ?? "GET", path, contentType: request.headers["content-type"] ?? "", body });
}

function tlsOf(keyPair: KeyPair, { clients, policy = {} }: HttpsOptions): ServerTls {
  return { ...keyPair, policy, asksClients: clients !== undefined, clientRootsPem: clients?.caPem() };
}
