/** HTTPS with bounded bodies, and answers as JSON or as lines without end. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "@flotilla/auth";
import { createHttpServer, type HttpAnswer, readBody, requestUrl, sendText } from "@flotilla/http";
import { type ListenOptions, type Logger, listen, type TlsPolicy } from "@flotilla/runtime";
import { ApiError, statusOf } from "./api-error.ts";
import type { KeyPair } from "./certificate.ts";

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Without parameters, in lower case. */
  readonly contentType: string;
  /** Read on demand: unauthenticated callers are refused before. @throws ApiError 413 */
  readonly body: () => Promise<Uint8Array>;
  readonly caller: Caller;
}

export type ApiReply =
  | { readonly status: number; readonly body: unknown; readonly warnings?: readonly string[] }
  /** One line of JSON each, until `stop` fires or there are no more. */
  | { readonly lines: (stop: AbortSignal) => AsyncIterable<unknown> };

export interface ApiServerOptions extends ListenOptions {
  readonly keyPair: KeyPair;
  readonly log: Logger;
  readonly policy?: TlsPolicy;
  /** @throws ApiError */
  readonly answer: (request: ApiRequest) => Promise<ApiReply>;
  /** How long lines may wait for a reader that takes none, in milliseconds. */
  readonly takeWithinMs?: number;
}

export interface ApiServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. @throws Error when the key does not fit */
  reload(keyPair: KeyPair): void;
}

const maxBodyBytes = 8 * 1024 * 1024;
/** Of bodies that are being sent or answered. */
const maxHeldBytes = 128 * 1024 * 1024;
const maxHeldBytesOfAddress = 64 * 1024 * 1024;
/** Of answers that callers have not taken yet. */
const maxAnswerBytes = 256 * 1024 * 1024;
const maxAnswerBytesOfAddress = 128 * 1024 * 1024;
/** A silent one makes room, so that no address can keep the others out. */
const maxConnections = 2_000;
const maxConnectionsOfAddress = 1_000;
/** A watch whose reader takes nothing for so long is ended: it goes on where it was. */
const defaultTakeWithinMs = 30_000;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveApi(options: ApiServerOptions): Promise<ApiServer> {
  const { keyPair, log, answer, policy = {}, takeWithinMs = defaultTakeWithinMs } = options;
  const closing = new AbortController();
  const http = createHttpServer({
    ...{ tls: { ...keyPair, policy }, drainMs: 2_000 },
    bounds: { maxPerAddress: maxConnectionsOfAddress, maxInAll: maxConnections },
    bodies: { maxPerAddress: maxHeldBytesOfAddress, maxInAll: maxHeldBytes },
    answers: { maxPerAddress: maxAnswerBytesOfAddress, maxInAll: maxAnswerBytes, takeWithinMs },
    respond: (request, response) => respond(request, response, { answer, takeWithinMs, closing: closing.signal }),
    failure: () => jsonOf(500, statusOf(new ApiError(500, "InternalError", "internal error"))),
    onFailure: (error, request) => log.error("request failed", { path: request.url, error }),
    onHandshakeFailure: (error, remoteAddress) =>
      log.debug("handshake failed", { remoteAddress, reason: error.message }),
  });
  const port = await listen(http.server, options);
  return {
    port,
    reload: (next) => http.reload({ ...next, policy }),
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await http[Symbol.asyncDispose]();
    },
  };
}

interface Responding extends Pick<ApiServerOptions, "answer"> {
  readonly takeWithinMs: number;
  readonly closing: AbortSignal;
}

async function respond(request: IncomingMessage, response: ServerResponse, responding: Responding): Promise<void> {
  try {
    const reply = await responding.answer(parseRequest(request));
    if ("lines" in reply) return await sendLines(response, reply.lines, responding);
    for (const warning of reply.warnings ?? []) response.appendHeader("warning", `299 - ${quoted(warning)}`);
    sendText(response, jsonOf(reply.status, reply.body));
  } catch (error) {
    if (!(error instanceof ApiError) || response.headersSent) throw error;
    if (error.status === 401) response.setHeader("www-authenticate", "Bearer");
    if (error.status === 429) response.setHeader("retry-after", "1");
    sendText(response, jsonOf(error.status, statusOf(error)));
  }
}

function parseRequest(request: IncomingMessage): ApiRequest {
  const url = requestUrl(request);
  const [contentType = ""] = (request.headers["content-type"] ?? "").toLowerCase().split(";", 1);
  const metadata = new Map(Object.entries(request.headersDistinct).map(([name, values]) => [name, values ?? []]));
  const { remoteAddress = "", remotePort } = request.socket;
  const caller = {
    metadata,
    remoteAddress: `${remoteAddress.includes(":") ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`,
  };
  return {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    contentType: contentType.trim(),
    body: () => bodyOf(request),
    caller,
  };
}

/** @throws ApiError 413, 400 */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array> {
  const body = await readBody(request, maxBodyBytes).catch(() => {
    throw new ApiError(400, "BadRequest", "the body ended too early");
  });
  if (typeof body !== "string") return body;
  if (body === "busy")
    throw new ApiError(429, "TooManyRequests", "too many bytes of bodies are being sent, try again later");
  throw new ApiError(413, "RequestEntityTooLarge", `the body is larger than ${maxBodyBytes} bytes`);
}

async function sendLines(
  response: ServerResponse,
  lines: (stop: AbortSignal) => AsyncIterable<unknown>,
  { takeWithinMs, closing }: Responding,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  const stop = AbortSignal.any([gone.signal, closing]);
  for await (const line of lines(stop)) {
    if (!response.write(`${JSON.stringify(line)}\n`) && !stop.aborted) await drained(response, takeWithinMs);
    if (stop.aborted) break;
  }
  response.end();
}

/** Also when the reader has gone. One that takes nothing is cut off: it holds a watch and what waits for it. */
async function drained(response: ServerResponse, withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve).once("close", resolve);
  const timer = setTimeout(() => response.destroy(), withinMs);
  await promise;
  clearTimeout(timer);
  response.off("drain", resolve).off("close", resolve);
}

function jsonOf(status: number, body: unknown): HttpAnswer {
  return { status, contentType: "application/json", text: `${JSON.stringify(body)}\n` };
}

/** As a quoted string of a header: nothing that would end it or the line. */
function quoted(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 1_000);
  return `"${plain.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
