/** The console's port: the page, the API behind sessions, and the stream of events. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { SessionInfo } from "@flotilla/console/contract";
import { type PageFiles, pageHeaders, sendPageFile } from "@flotilla/console/served-page";
import {
  createHttpServer,
  type HttpAnswer,
  type HttpServer,
  readBody,
  requestUrl,
  type ServerTls,
  sendText,
} from "@flotilla/http";
import type { Logger } from "@flotilla/runtime";
import { RequestRefused } from "../errors.ts";
import type { EventStreams } from "../events/event-streams.ts";
import type { ConsoleMetrics } from "../metrics.ts";
import { type CookieName, expectOwnSite, expectSameOrigin, sessionIdIn, setCookie } from "../session/cookie.ts";
import type { Session, SessionCaller, Sessions } from "../session/sessions.ts";
import { type EndpointTable, isFile } from "./endpoint.ts";

export interface ConsoleServerOptions {
  readonly tls?: ServerTls;
  readonly cookie: CookieName;
  readonly sessions: Sessions;
  readonly idleMs: number;
  readonly version: string;
  readonly endpoints: EndpointTable;
  readonly events: Pick<EventStreams, "open">;
  readonly page: PageFiles;
  readonly metrics: ConsoleMetrics;
  readonly log: Logger;
  /** Services prove who the token of the body is of. @throws RequestRefused */
  readonly signIn: (body: unknown) => Promise<{ readonly caller: SessionCaller; readonly token: string }>;
}

const maxBodyBytes = 4 * 1024 * 1024;
/** Before the sign-in: a token and the braces around it. */
const maxSignInBytes = 16 * 1024;
const maxConnections = 1_000;
const maxConnectionsOfAddress = 500;
/** Of bodies that are being sent or answered. */
const maxHeldBytes = 64 * 1024 * 1024;
const maxHeldBytesOfAddress = 32 * 1024 * 1024;

/** Does not bind a port. */
export function createConsoleServer(options: ConsoleServerOptions): HttpServer {
  const { tls, log } = options;
  return createHttpServer({
    ...(tls !== undefined && { tls }),
    ...{ drainMs: 500, bounds: { maxPerAddress: maxConnectionsOfAddress, maxInAll: maxConnections } },
    bodies: { maxPerAddress: maxHeldBytesOfAddress, maxInAll: maxHeldBytes },
    respond: (request, response) => respond(request, response, options),
    failure: () => jsonOf(500, { error: { code: "upstream", message: "internal error" } }),
    onFailure: (error, request) => log.error("request failed", { path: pathOf(request), error }),
    onHandshakeFailure: (error, remoteAddress) =>
      log.debug("handshake failed", { remoteAddress, reason: error.message }),
  });
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: ConsoleServerOptions,
): Promise<void> {
  for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
  const path = pathOf(request);
  try {
    if (path.startsWith("/api/")) await respondApi(request, response, options);
    else sendPage(request, response, options.page.find(path));
  } catch (error) {
    if (!(error instanceof RequestRefused) || response.headersSent) throw error;
    options.metrics.refused.add(1, { code: error.code });
    sendJson(response, error.status, { error: error.error });
  }
}

async function respondApi(
  request: IncomingMessage,
  response: ServerResponse,
  options: ConsoleServerOptions,
): Promise<void> {
  const { method = "GET" } = request;
  const isReading = method === "GET" || method === "HEAD";
  if (isReading) expectOwnSite(request.headers);
  else expectSameOrigin(request.headers);
  const url = requestUrl(request);
  if (url.pathname === "/api/v1/session") return respondSession(request, response, options);
  const session = expectSession(request, options);
  if (url.pathname === "/api/v1/events" && method === "GET")
    return options.events.open(response, session, lastEventId(request));
  const { handler, params, name } = options.endpoints.find(isReading ? "GET" : method, url.pathname);
  const startedMs = performance.now();
  const answer = await handler({ session, params, query: url.searchParams, body: () => bodyOf(request, maxBodyBytes) });
  options.metrics.seconds.observe((performance.now() - startedMs) / 1_000, { endpoint: name });
  if (isFile(answer)) {
    response.setHeader("content-disposition", `attachment; filename="${answer.fileName.replaceAll(/[^\w.-]/g, "_")}"`);
    sendText(
      response,
      { status: 200, contentType: answer.contentType, text: answer.text },
      { "cache-control": "no-store" },
    );
  } else if (answer === undefined) response.writeHead(204, { "cache-control": "no-store" }).end();
  else sendJson(response, 200, answer);
}

async function respondSession(
  request: IncomingMessage,
  response: ServerResponse,
  options: ConsoleServerOptions,
): Promise<void> {
  const { cookie, sessions, signIn } = options;
  const before = sessionIdIn(request.headers, cookie);
  switch (request.method) {
    case "GET":
    case "HEAD":
      return sendJson(response, 200, infoOf(expectSession(request, options).caller, options));
    case "POST": {
      const { caller, token } = await signIn(await bodyOf(request, maxSignInBytes));
      if (before !== undefined) sessions.end(before, "signed-out");
      response.setHeader("set-cookie", setCookie(cookie, sessions.begin(caller, token)));
      options.log.info("signed in", { account: caller.account, mayWrite: caller.mayWrite });
      return sendJson(response, 201, infoOf(caller, options));
    }
    case "DELETE":
      if (before !== undefined) sessions.end(before, "signed-out");
      response.setHeader("set-cookie", setCookie(cookie, ""));
      response.writeHead(204).end();
      return;
    default:
      throw new RequestRefused("bad-request", "/api/v1/session takes GET, POST, DELETE only");
  }
}

/** @throws RequestRefused no-session */
function expectSession({ headers: of }: IncomingMessage, { cookie, sessions }: ConsoleServerOptions): Session {
  const id = sessionIdIn(of, cookie);
  const session = id === undefined ? undefined : sessions.use(id);
  if (session === undefined)
    throw new RequestRefused("no-session", "sign in first: the session has ended, or there is none");
  return session;
}

function infoOf(
  { account, mayWrite, onlyNamespace, tokenExpiresAtMs }: SessionCaller,
  { idleMs, version }: ConsoleServerOptions,
): SessionInfo {
  return {
    ...{ account, mayWrite, idleMs, version },
    ...(onlyNamespace !== undefined && { onlyNamespace }),
    ...(tokenExpiresAtMs !== undefined && { tokenExpiresAt: new Date(tokenExpiresAtMs).toISOString() }),
  };
}

/** @throws RequestRefused bad-request, too-large, too-many */
async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? ""))
    throw new RequestRefused("bad-request", "the body is not of type application/json");
  const body = await readBody(request, maxBytes);
  if (body === "too large") throw new RequestRefused("too-large", `the body is larger than ${maxBytes} bytes`);
  if (body === "busy") throw new RequestRefused("too-many", "too many bytes of bodies are being sent");
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new RequestRefused("bad-request", "the body is no JSON");
  }
}

function sendPage(request: IncomingMessage, response: ServerResponse, file: ReturnType<PageFiles["find"]>): void {
  if (request.method !== "GET" && request.method !== "HEAD")
    throw new RequestRefused("not-found", "the page is read only");
  if (file === undefined) {
    const text = "There is no such file; if there is no page at all, build it: pnpm --filter @flotilla/console build\n";
    sendText(response, { status: 404, contentType: "text/plain; charset=utf-8", text });
    return;
  }
  sendPageFile(file, request, response);
}

function sendJson(response: ServerResponse, status: number, json: unknown): void {
  sendText(response, jsonOf(status, json), { "cache-control": "no-store" });
}

function jsonOf(status: number, json: unknown): HttpAnswer {
  return { status, contentType: "application/json", text: JSON.stringify(json) };
}

/** Without the query. */
function pathOf({ url = "/" }: IncomingMessage): string {
  return new URL(url, "http://console").pathname;
}

function lastEventId({ headers: of }: IncomingMessage): number | undefined {
  const id = Number(of["last-event-id"]);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}
