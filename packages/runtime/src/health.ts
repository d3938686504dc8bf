/** A service's HTTP page: readiness, life, metrics, version, and what the service adds to it. */
import { type HttpHandler, type HttpMethod, RouteTable } from "@flotilla/http";
import { listen } from "./listen.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";
import { createPageServer } from "./page-server.ts";
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

/** @throws RuntimeError PORT_IN_USE, PORT_REFUSED */
export async function serveHealth(options: HealthOptions): Promise<Health> {
  const { log } = options;
  const readiness = new Readiness();
  const routes = new RouteTable();
  addOwnRoutes(routes, readiness, options);
  const http = createPageServer({ routes, log });
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
  // `istioctl version` reads clientVersion, and ends with a nil pointer where it is missing (istio/pkg/kube/client.go, GetIstioVersions).
  const clientVersion = { version };
  get("/version", () => ({
    json: { service, version, node: process.version, startedAt, pid: process.pid, clientVersion },
  }));
  get("/metrics", async () => ({ text: await metrics.text(), contentType: metrics.contentType }));
}
