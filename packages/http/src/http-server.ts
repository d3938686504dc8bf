/** One server for all HTTP and HTTPS ports: limits, a certificate that is replaced while connections stay open, and a graceful end. */
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { BodyPace, followPace } from "./body-pace.ts";
import { boundConnections, type ConnectionBounds } from "./connection-bound.ts";
import { type AnswerBounds, HeldAnswers, heldAnswersOf } from "./held-answers.ts";
import { type BodyBounds, HeldBodies } from "./held-bodies.ts";
import { defaultHandshakeLimits, paceHandshakes, peerOf } from "./paced-listener.ts";
import { dropBody } from "./read-body.ts";
import { type EndTurn, RequestQueue } from "./request-queue.ts";
import { serverTlsParameters, type TlsPolicy } from "./tls-parameters.ts";

/** An answer that is complete. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** The certificate of a server and, where clients show certificates, the roots that theirs are checked against. */
export interface ServerTls {
  readonly keyPem: string;
  /** The certificate first, then those that lead to the root. */
  readonly chainPem: string;
  /** Clients are asked for a certificate; one that is missing or wrong is for `respond` to refuse. */
  readonly asksClients?: boolean;
  /** Undefined: the roots of Node. */
  readonly clientRootsPem?: string | undefined;
  /** No restriction unless given. */
  readonly policy?: TlsPolicy;
}

/** Handlers of a server, and its limits; without `tls` it speaks plain HTTP. */
export interface HttpServerOptions {
  readonly tls?: ServerTls;
  /** At them the oldest idle connection makes room for the next. */
  readonly bounds?: ConnectionBounds;
  /** Of bodies that are being sent, or are there and not answered yet; no bound unless given. */
  readonly bodies?: BodyBounds;
  /** Of answers that are sent by `sendText` and not taken yet; no bound unless given. */
  readonly answers?: AnswerBounds;
  /** True for requests that are answered one at a time, the others ahead of them; none unless given. */
  readonly queues?: (request: IncomingMessage) => boolean;
  /** Answers may take this long after the end was asked for, in milliseconds. */
  readonly drainMs: number;
  readonly respond: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** The answer to a request that `respond` rejected. */
  readonly failure: (error: unknown) => HttpAnswer;
  readonly onFailure: (error: unknown, request: IncomingMessage) => void;
  /** A handshake failed. */
  readonly onHandshakeFailure?: (error: Error, remoteAddress: string | undefined) => void;
}

/** A server that is not bound yet; disposing of it closes its port and its connections. */
export interface HttpServer extends AsyncDisposable {
  readonly server: Server | TlsServer;
  /** For connections from now on. @throws Error when the key does not fit, or the server speaks plain HTTP */
  reload(tls: ServerTls): void;
}

/** A connection that has not finished its handshake by then makes room, in milliseconds. */
const handshakeMs = 10_000;
/** For all headers of a request, and for the whole of it, in milliseconds. */
const headersMs = 60_000;
const requestMs = 300_000;
/** For all headers of a request together. */
const maxHeaderBytes = 16 * 1024;

/** Does not bind a port. @throws Error when the key does not fit the certificate */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { tls, drainMs, bounds, bodies, onHandshakeFailure } = options;
  const held = bodies && new HeldBodies(bodies);
  const admit = admission(options);
  const limits = { headersTimeout: headersMs, requestTimeout: requestMs, maxHeaderSize: maxHeaderBytes };
  const pace = new BodyPace();
  // By peer, since a request over TLS has another socket than its connection.
  const busy = new Set<string>();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const peer = peerOf(request.socket);
    busy.add(peer);
    response.once("close", () => busy.delete(peer));
    held?.follow(request, response);
    followPace(request, pace);
    response.prependOnceListener("finish", () => {
      if (!request.complete && request.listenerCount("data") === 0) dropBody(request);
    });
    void (async () => {
      const end = await admit(request, response);
      if (end === undefined) return;
      await answer(options, request, response);
      end();
    })();
  };
  const secure =
    tls &&
    createTlsServer(
      {
        ...{ ...limits, ...contextOf(tls), handshakeTimeout: handshakeMs, pauseOnConnect: true },
        ...{ requestCert: tls.asksClients === true, rejectUnauthorized: false },
      },
      listener,
    );
  secure?.on("tlsClientError", (error, socket) => onHandshakeFailure?.(error, socket.remoteAddress));
  const closeWaiting =
    secure &&
    paceHandshakes(secure, {
      ...defaultHandshakeLimits,
      onDropped: (address, reason) =>
        onHandshakeFailure?.(new Error(`closed before its handshake: ${reason}`), address),
    });
  const server = secure ?? createPlainServer(limits, listener);
  if (bounds !== undefined) boundConnections(server, bounds, (socket) => busy.has(peerOf(socket)));
  return {
    server,
    reload: (next) => {
      if (secure === undefined) throw new Error("a server of plain HTTP has no certificate");
      secure.setSecureContext(contextOf(next));
    },
    [Symbol.asyncDispose]: () => {
      closeWaiting?.();
      return close(server, drainMs);
    },
  };
}

function unavailable(error: string): HttpAnswer {
  return { status: 503, contentType: "application/json", text: `${JSON.stringify({ error })}\n` };
}
const noRoom = unavailable("too many bytes of answers to this address are not read yet");
const queueFull = unavailable("too many requests wait");
const retryLater = { "retry-after": "1" };

/** Ends the response with a text of known length, or with 503 where answers that are not taken leave no room for it. */
export function sendText(
  response: ServerResponse,
  { status, contentType, text }: HttpAnswer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(text);
  if (heldAnswersOf(response)?.hold(response, bytes.byteLength) === false) {
    sendText(response, noRoom, retryLater);
    return;
  }
  response.writeHead(status, { "content-type": contentType, "content-length": bytes.byteLength, ...headers });
  response.end(bytes);
}

/** Resolves when a request may start; to undefined when it was refused, or its caller has gone. No page is made for a caller that reads none. */
function admission({ answers, queues }: Pick<HttpServerOptions, "answers" | "queues">) {
  const held = answers && new HeldAnswers(answers);
  const queue = new RequestQueue();
  return async (request: IncomingMessage, response: ServerResponse): Promise<EndTurn | undefined> => {
    held?.follow(response);
    if (queues?.(request) !== true) return () => undefined;
    const { remoteAddress = "" } = request.socket;
    const end = await queue.enter(remoteAddress);
    const refusal = end === undefined ? queueFull : held?.hasRoom(remoteAddress) === false ? noRoom : undefined;
    if (refusal === undefined && !response.destroyed) return end;
    if (refusal !== undefined) sendText(response, refusal, retryLater);
    end?.();
    return undefined;
  };
}

async function answer(
  { respond, failure, onFailure }: HttpServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await respond(request, response);
  } catch (error) {
    onFailure(error, request);
    if (response.headersSent) response.destroy();
    else sendText(response, failure(error));
  }
}

async function close(server: Server | TlsServer, drainMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  if (drainMs === 0) server.closeAllConnections();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await promise;
  clearTimeout(timer);
}

function contextOf({ keyPem, chainPem, clientRootsPem, policy = {} }: ServerTls) {
  const own = { ...serverTlsParameters(policy), key: keyPem, cert: chainPem };
  return clientRootsPem === undefined ? own : { ...own, ca: clientRootsPem };
}
