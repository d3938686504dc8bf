/** Serves a table of routes over HTTP: bodies are read, rejections become status 500 and a log line. */
import type { IncomingMessage } from "node:http";
import {
  createHttpServer,
  type HttpAnswer,
  type HttpReply,
  type HttpServer,
  type RouteTable,
  readBody,
  requestUrl,
  sendText,
} from "@flotilla/http";
import type { Logger } from "./logger.ts";

export interface PageServerOptions {
  readonly routes: RouteTable;
  readonly log: Logger;
  /** Asked before the routes are: its answer takes their place. */
  readonly refuse?: (request: IncomingMessage) => HttpReply | undefined;
}

const maxBodyBytes = 4 * 1024 * 1024;
/** Kubelets, Prometheus and operators have a few. */
const maxPageConnections = 2_048;
const maxPageConnectionsOfAddress = 256;

/** Of bodies that are being sent or answered. */
const maxHeldBytes = 32 * 1024 * 1024;
const maxHeldBytesOfAddress = 16 * 1024 * 1024;
/** Of answers that callers have not taken yet. */
const maxAnswerBytes = 64 * 1024 * 1024;
const maxAnswerBytesOfAddress = 32 * 1024 * 1024;
/** Kubelets and Prometheus ask for them: they wait for no page. */
const probePaths: ReadonlySet<string> = new Set(["/ready", "/healthz", "/metrics", "/version"]);

/** Does not bind a port. */
export function createPageServer({ routes, log, refuse }: PageServerOptions): HttpServer {
  return createHttpServer({
    drainMs: 0,
    bounds: { maxPerAddress: maxPageConnectionsOfAddress, maxInAll: maxPageConnections },
    bodies: { maxPerAddress: maxHeldBytesOfAddress, maxInAll: maxHeldBytes },
    answers: { maxPerAddress: maxAnswerBytesOfAddress, maxInAll: maxAnswerBytes },
    queues: ({ url = "" }) => !probePaths.has(url.split("?", 1)[0] ?? ""),
    respond: async (request, response) => {
      const reply = refuse?.(request) ?? (await answer(routes, request));
      const location = "location" in reply && reply.location !== undefined ? { location: reply.location } : {};
      sendText(response, formatReply(reply, isForProgram(request)), location);
    },
    failure: (error) =>
      formatReply({ status: 500, json: { error: error instanceof Error ? error.message : String(error) } }),
    onFailure: (error, request) => log.error("page failed", { path: request.url, error }),
  });
}

async function answer(routes: RouteTable, request: IncomingMessage): Promise<HttpReply> {
  const url = requestUrl(request);
  const route = routes.find(request.method ?? "GET", url.pathname);
  if (route === undefined) return { status: 404, json: { error: `no page ${url.pathname}`, pages: routes.paths() } };
  const body = await readBody(request, maxBodyBytes);
  if (body === "too large") return { status: 413, json: { error: `the body is larger than ${maxBodyBytes} bytes` } };
  if (body === "busy") return { status: 503, json: { error: "too many bytes of bodies are being sent" } };
  return route.handler({
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    remoteAddress: request.socket.remoteAddress ?? "",
  });
}

/** JSON is indented for people; programs that send `accept: application/json` get it without white space. */
function isForProgram({ headers: of }: IncomingMessage): boolean {
  return of.accept === "application/json";
}

function formatReply(reply: HttpReply, isCompact = false): HttpAnswer {
  const text = "json" in reply ? `${JSON.stringify(reply.json, undefined, isCompact ? 0 : 2)}\n` : reply.text;
  const contentType = "json" in reply ? "application/json" : (reply.contentType ?? "text/plain; charset=utf-8");
  return { status: reply.status ?? 200, contentType, text };
}
