/** A service's HTTP page: readiness, life, metrics, version, and what the service adds to it. */
import type { IncomingMessage } from "node:http";
import {
  createHttpServer,
  type HttpAnswer,
  type HttpHandler,
  type HttpMethod,
  type HttpReply,
  RouteTable,
  readBody,
  sendText,
} from "@flotilla/http";
import { listen } from "./listen.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";
import { Readiness } from "./readiness.ts";

/** Name, port and metrics of a service's HTTP page. */
export interface HealthOptions {
  readonly service: string;
  readonly version: string;
  readonly port: number;
  readonly host: string;
  /** The setting that moves the port. */
  readonly setting: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The HTTP page of a service; disposing of it closes the port. */
export interface Health extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly readiness: Readiness;
  markReady(): void;
  /** See Readiness.setCondition. */
  setCondition(name: string, detail: string | undefined, options?: { readonly blocks?: boolean }): void;
  /** `path` may end in `/*`. @throws HttpError ROUTE_TAKEN */
  route(method: HttpMethod, path: string, handler: HttpHandler): void;
}

const maxBodyBytes = 4 * 1024 * 1024;

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveHealth(options: HealthOptions): Promise<Health> {
  const { log } = options;
  const readiness = new Readiness();
  const routes = new RouteTable();
  addOwnRoutes(routes, readiness, options);
  const http = createHttpServer({
    drainMs: 0,
    respond: async (request, response) => {
      const reply = await answer(routes, request);
      const location = "location" in reply && reply.location !== undefined ? { location: reply.location } : {};
      sendText(response, formatReply(reply), location);
    },
    failure: (error) =>
      formatReply({ status: 500, json: { error: error instanceof Error ? error.message : String(error) } }),
    onFailure: (error, request) => log.error("page failed", { path: request.url, error }),
  });
  const port = await listen(http.server, options);
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  log.info("health page open", { url: `http://${host}:${port}` });
  return {
    port,
    url: `http://${host}:${port}`,
    readiness,
    markReady: () => readiness.markReady(),
    setCondition: (name, detail, given) => readiness.setCondition(name, detail, given),
    route: (method, path, handler) => routes.add({ method, path, handler }),
    [Symbol.asyncDispose]: async () => {
      readiness.markStopping();
      await http[Symbol.asyncDispose]();
    },
  };
}

function addOwnRoutes(routes: RouteTable, readiness: Readiness, { service, version, metrics }: HealthOptions): void {
  const startedAt = new Date().toISOString();
  const get = (path: string, handler: HttpHandler): void => routes.add({ method: "GET", path, handler });
  get("/", () => ({ json: { service, version, pages: routes.paths() } }));
  get("/ready", () => {
    const report = readiness.report();
    return { status: report.ready ? 200 : 503, json: { service, pid: process.pid, ...report } };
  });
  get("/healthz", () => ({ text: "ok\n" }));
  get("/version", () => ({ json: { service, version, node: process.version, startedAt, pid: process.pid } }));
  get("/metrics", async () => ({ text: await metrics.text(), contentType: metrics.contentType }));
}

async function answer(routes: RouteTable, request: IncomingMessage): Promise<HttpReply> {
  const url = new URL(request.url ?? "/", "http://localhost");
  const route = routes.find(request.method ?? "GET", url.pathname);
  if (route === undefined) return { status: 404, json: { error: `no page ${url.pathname}`, pages: routes.paths() } };
  const body = await readBody(request, maxBodyBytes);
  if (body === undefined) return { status: 413, json: { error: `the body is larger than ${maxBodyBytes} bytes` } };
  return route.handler({
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    remoteAddress: request.socket.remoteAddress ?? "",
  });
}

function formatReply(reply: HttpReply): HttpAnswer {
  const text = "json" in reply ? `${JSON.stringify(reply.json, undefined, 2)}\n` : reply.text;
  const contentType = "json" in reply ? "application/json" : (reply.contentType ?? "text/plain; charset=utf-8");
  return { status: reply.status ?? 200, contentType, text };
}
