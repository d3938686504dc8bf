/**
 * Pages about the process itself, on the own host only: log levels, settings, memory, profiles, a clean stop. Log levels are read
 * and set as istiod's ControlZ has it, so that `istioctl admin log` works.
 */
import type { IncomingMessage } from "node:http";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import { type HttpHandler, type HttpReply, type HttpRequest, RouteTable } from "@flotilla/http";
import { listen } from "../listen.ts";
import { type LogLevel, type LogLevels, logLevels } from "../log-levels.ts";
import type { Logger } from "../logger.ts";
import { createPageServer } from "../page-server.ts";
import { port, text } from "../settings/kinds.ts";
import type { SettingsOf, ShownSetting } from "../settings/settings.ts";
import { openConnections } from "./connections.ts";
import { Profiles } from "./profiles.ts";

/** Where the pages are. */
export const introspectionSettings = {
  introspectionHost: text({
    env: "INTROSPECTION_HOST",
    default: "localhost",
    sentence:
      "Address of the introspection pages: log levels, settings, memory, profiles. Callers are not authenticated.",
  }),
  introspectionPort: port({
    env: "INTROSPECTION_PORT",
    default: 9876,
    sentence: "Port of the introspection pages; a service whose port is taken goes on without them.",
  }),
} as const;

export interface IntrospectionOptions extends SettingsOf<typeof introspectionSettings> {
  readonly service: string;
  readonly version: string;
  readonly log: Logger;
  readonly levels: LogLevels;
  readonly settings: readonly ShownSetting[];
  /** Asks the service to end as SIGTERM does. */
  readonly end: () => void;
}

/** The pages of one service; disposing of them closes the port. */
export interface Introspection extends AsyncDisposable {
  /** Undefined where the port is taken. */
  readonly url: string | undefined;
  /** Adds a page with figures of the service, such as its queues. */
  page(path: string, show: () => unknown): void;
}

/** Opens the pages; a port that cannot be opened is logged. */
export async function openIntrospection(options: IntrospectionOptions): Promise<Introspection> {
  const { log, introspectionHost, introspectionPort } = options;
  const host = introspectionHost === "*" ? "0.0.0.0" : introspectionHost;
  const stopped = new AbortController();
  const routes = new RouteTable();
  addPages(routes, options, stopped.signal);
  const http = createPageServer({ routes, log, refuse: (request) => refuseOtherHosts(request, host) });
  let url: string | undefined;
  try {
    const bound = await listen(http.server, { host, port: introspectionPort, setting: "INTROSPECTION_PORT" });
    url = `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
    log.info("introspection pages open", { url });
  } catch (error) {
    log.info("introspection pages not open", { reason: error instanceof Error ? error.message : String(error) });
  }
  return {
    url,
    page: (path, show) => routes.add({ method: "GET", path, handler: () => ({ json: show() }) }),
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      if (url !== undefined) await http[Symbol.asyncDispose]();
    },
  };
}

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** A web page of somebody else may send requests here, under its own host name. */
function refuseOtherHosts({ headers }: IncomingMessage, host: string): HttpReply | undefined {
  if (!loopback.has(host)) return undefined;
  const named = (headers.host ?? "").replace(/:\d+$/, "").replaceAll(/[[\]]/g, "");
  if (loopback.has(named) && headers.origin === undefined) return undefined;
  return { status: 403, json: { error: "introspection pages answer requests to localhost that no web page sends" } };
}

function addPages(routes: RouteTable, options: IntrospectionOptions, stop: AbortSignal): void {
  const { service, version, settings, end } = options;
  const add = (method: "GET" | "PUT" | "POST", path: string, handler: HttpHandler) =>
    routes.add({ method, path, handler });
  add("GET", "/", () => ({ json: { service, version, pages: routes.paths() } }));
  addLevels(add, options);
  add("GET", "/settings", () => ({ json: settings }));
  add("GET", "/memory", () => ({
    json: { ...process.memoryUsage(), heap: getHeapStatistics(), spaces: getHeapSpaceStatistics() },
  }));
  add("GET", "/process", () => ({
    json: {
      ...{ service, version, node: process.versions, pid: process.pid, platform: process.platform, arch: process.arch },
      ...{ uptimeSeconds: process.uptime(), usage: process.resourceUsage(), open: process.getActiveResourcesInfo() },
    },
  }));
  add("GET", "/connections", () => ({ json: openConnections() }));
  const profiles = new Profiles();
  for (const kind of ["cpu", "heap"] as const)
    add("GET", `/profile/${kind}`, ({ query }) => takeProfile(profiles, kind, query, stop));
  add("POST", "/stop", () => {
    setImmediate(end);
    return { status: 202, json: { stopping: true } };
  });
}

type Add = (method: "GET" | "PUT" | "POST", path: string, handler: HttpHandler) => void;

/** istiod calls `silent` none. */
const istioNames: Readonly<Record<LogLevel, string>> = {
  ...{ debug: "debug", info: "info", warn: "warn", error: "error" },
  silent: "none",
};

function addLevels(add: Add, { levels, service, log }: IntrospectionOptions): void {
  const describe = ([name, level]: readonly [string, LogLevel]) => ({
    ...{ name, description: name === "default" ? `${service}, but for what is listed` : `lines of the part ${name}` },
    ...{ output_level: istioNames[level], stack_trace_level: "none", log_callers: false },
  });
  const all = (): HttpReply => ({ json: Object.entries(levels.list()).map(describe) });
  add("GET", "/scopej", all);
  add("GET", "/scopej/", all);
  add("GET", "/scopej/*", ({ path }) => {
    const found = Object.entries(levels.list()).find(([name]) => name === scopeOf(path));
    return found === undefined ? unknownScope(path) : { json: describe(found) };
  });
  add("PUT", "/scopej/*", (request) => {
    const name = scopeOf(request.path);
    if (!Object.keys(levels.list()).includes(name)) return unknownScope(request.path);
    const level = levelIn(request);
    if (level === undefined)
      return { status: 400, json: { error: `output_level is none of ${Object.values(istioNames).join(", ")}` } };
    levels.set(name, level);
    log.info("log level changed", { scope: name, level });
    return { status: 202, json: { name, output_level: istioNames[level] } };
  });
}

function scopeOf(path: string): string {
  return decodeURIComponent(path.slice("/scopej/".length));
}

function unknownScope(path: string): HttpReply {
  return { status: 400, json: { error: `unknown scope name: ${scopeOf(path)}` } };
}

function levelIn({ body }: HttpRequest): LogLevel | undefined {
  try {
    const given = JSON.parse(Buffer.from(body).toString()) as { readonly output_level?: unknown } | null;
    return logLevels.find((level) => istioNames[level] === given?.output_level);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const mostSeconds = 120;

async function takeProfile(
  profiles: Profiles,
  kind: "cpu" | "heap",
  query: URLSearchParams,
  stop: AbortSignal,
): Promise<HttpReply> {
  const seconds = Number(query.get("seconds") ?? "10");
  if (!(seconds > 0 && seconds <= mostSeconds))
    return { status: 400, json: { error: `seconds is a number up to ${mostSeconds}` } };
  const profile = await profiles.take(kind, seconds, stop);
  if (profile === undefined) return { status: 409, json: { error: "another profile is being taken" } };
  return { text: profile, contentType: "application/json" };
}
