/**
 * console: the state of a mesh, its changes and their rejections, for browsers. It passes on what its callers ask to the pages and the API
 * of the other services, with each caller's own token; it speaks neither NATS nor Redis.
 *
 * The composition root.
 */
import { hostname } from "node:os";
import { pageAccess, serveProcessPages } from "@flotilla/auth";
import { builtPage } from "@flotilla/console/built-page";
import type { ServiceSettings } from "@flotilla/console/contract";
import { type PageFiles, readPageFiles } from "@flotilla/console/served-page";
import type { ServerTls } from "@flotilla/http";
import { type Logger, startService } from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { changeHandlers } from "./answers/changes.ts";
import { objectHandlers } from "./answers/objects.ts";
import { operationHandlers } from "./answers/operations.ts";
import { overviewHandler } from "./answers/overview.ts";
import { proxyHandlers } from "./answers/proxies.ts";
import { requestPathHandlers } from "./answers/request-path/request-path.ts";
import { topologyHandlers } from "./answers/topology.ts";
import { EventFeed } from "./events/event-feed.ts";
import { EventStreams } from "./events/event-streams.ts";
import { declareMetrics } from "./metrics.ts";
import { createConsoleServer } from "./serve/console-server.ts";
import { EndpointTable } from "./serve/endpoint.ts";
import { servePort } from "./serve/serve-port.ts";
import { cookieName } from "./session/cookie.ts";
import { Sessions } from "./session/sessions.ts";
import { callerOfToken } from "./session/sign-in.ts";
import { type ConsoleService, readSettings, settings as table } from "./settings.ts";
import { adminAddresses } from "./stats/admin-address.ts";
import { createStatsReader } from "./stats/proxy-stats.ts";
import { createApi } from "./upstream/api.ts";
import { addressesOf, createServices } from "./upstream/services.ts";
import { MetricWatch } from "./watch/metric-watch.ts";
import { ReplicaWatch } from "./watch/replica-watch.ts";

export interface MainOptions {
  readonly log?: Logger;
  /** Called once requests are answered, with the ports in use. */
  readonly onReady?: (ports: { readonly page: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(
  env: Readonly<Record<string, string | undefined>>,
  stop: AbortSignal,
  { log, onReady }: MainOptions = {},
): Promise<void> {
  const { version } = manifest;
  const options = { name: "console", version, settings: readSettings(env), table, log, processMetrics: true };
  await startService(options, (service) => run(service, onReady), stop);
}

const sweepMs = 5_000;

async function run(service: ConsoleService, onReady: MainOptions["onReady"]): Promise<void> {
  const { settings, health, log, stop, version } = service;
  const { workDir, namespace, debugAuth: isOn, pageWriters: writers, idleMs, upstreamTimeoutMs: timeoutMs } = settings;
  serveProcessPages(health, pageAccess({ isOn, workDir, namespace, writers, log }), service.pages);
  const services = createServices({ addresses: addressesOf(settings), timeoutMs });
  const api = createApi({ services, url: settings.apiUrl, rootFile: settings.rootFile, timeoutMs });
  const sessions = new Sessions({ idleMs, maxSessions: settings.maxSessions, nowMs: Date.now });
  const replicas = new ReplicaWatch(services);
  const measured = new MetricWatch(services);
  const feed = new EventFeed({ services, replicas, onEvent: ({ type }) => metrics.events.add(1, { type }) });
  const events = new EventStreams({ feed, maxStreams: settings.maxStreams, stop });
  const metrics = declareMetrics(service.metrics, { sessions: () => sessions.size, streams: () => events.count });
  const { proxyAdmin: given, proxyStatsPort: statsPort } = settings;
  const admin = adminAddresses({ given, statsPort, workDir });
  service.introspection?.page("/queues", () => ({ eventStreams: events.count, sessions: sessions.size }));
  const endpoints = new EndpointTable({
    "GET /api/v1/overview": overviewHandler({ services, replicas, metrics: measured }),
    ...proxyHandlers({ services, admin, stats: createStatsReader({ timeoutMs }) }),
    ...changeHandlers(services),
    ...objectHandlers(services, api),
    ...operationHandlers({ services, metrics: measured, own: () => ownSettings(service) }),
    ...topologyHandlers(services),
    ...requestPathHandlers(services),
  });
  const page = await readPage(service);
  using _sweeping = sweep(sessions);
  const create = (tls: ServerTls | undefined) =>
    createConsoleServer({
      ...(tls !== undefined && { tls }),
      cookie: cookieName(settings.port, tls !== undefined),
      ...{ sessions, idleMs, version, endpoints, events, page, metrics, log },
      signIn: (body) => callerOfToken(services, body),
    });
  await replicas.look();
  const serving = servePort(service, create, (port) => onReady?.({ page: port, health: health.port }));
  await service.runParts([replicas.run(stop), measured.run(stop), feed.run(stop), serving]);
}

/** Without a page the API is served alone. */
async function readPage({ settings: { pageDir }, health }: ConsoleService): Promise<PageFiles> {
  try {
    const page = await readPageFiles(pageDir ?? (await builtPage()));
    if (page.count === 0) health.setCondition("page", "no page is built: only the API is served", { blocks: false });
    return page;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    health.setCondition("page", `only the API is served: ${reason.slice(0, 500)}`, { blocks: false });
    return { count: 0, find: () => undefined };
  }
}

function ownSettings({ settings: { podName }, version, pages }: ConsoleService): ServiceSettings {
  const { settings, levels } = pages.inEffect();
  return { service: "console", replica: podName ?? hostname(), version, settings, levels };
}

/** Streams of ended sessions are closed even without a request. */
function sweep(sessions: Sessions): Disposable {
  const timer = setInterval(() => sessions.sweep(), sweepMs);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      sessions.endAll();
    },
  };
}
