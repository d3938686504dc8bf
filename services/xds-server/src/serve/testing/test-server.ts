/** An AdsServer on a free port with a static source, for tests. */
import { createMetrics, type Metrics, noopLogger } from "@flotilla/runtime";
import { defaultPushLimits, PushQueue, systemClock } from "../../push/push-queue.ts";
import { type AdsOptions, AdsServer } from "../ads-server.ts";
import type { StreamAuthentication } from "../authenticate.ts";
import { ConnectedStreams } from "../connected-streams.ts";
import { Deliveries } from "../deliveries.ts";
import { defaultAdsLimits, defaultStreamLimits } from "../stream-context.ts";
import { createStreamMetrics } from "../stream-metrics.ts";
import { StaticSource } from "./static-source.ts";

export interface TestServer extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
  readonly source: StaticSource;
  readonly ads: AdsServer;
  readonly connected: ConnectedStreams;
  readonly queue: PushQueue;
  readonly deliveries: Deliveries;
  readonly metrics: Metrics;
}

export interface TestServerOptions {
  readonly source?: StaticSource;
  readonly port?: number;
  readonly limits?: Partial<AdsOptions["limits"]>;
  readonly options?: Partial<AdsOptions>;
  readonly authentication?: StreamAuthentication;
}

export async function startTestServer(given: TestServerOptions = {}): Promise<TestServer> {
  const { source = new StaticSource(), port = 0, limits = {}, options = {}, authentication } = given;
  const metrics = createMetrics();
  const queue = new PushQueue({ ...defaultPushLimits, clock: systemClock });
  const streamMetrics = createStreamMetrics(metrics);
  const deliveries = new Deliveries({ metrics: streamMetrics, nowMs: Date.now });
  const { connected = new ConnectedStreams() } = options;
  const ads = new AdsServer({
    connected,
    source,
    scheduler: queue,
    debug: undefined,
    observer: {},
    metrics: streamMetrics,
    deliveries,
    log: noopLogger,
    limits: { ...defaultAdsLimits, ...defaultStreamLimits, drainMs: 200, ...limits },
    now: () => performance.now(),
    isReady: () => true,
    noncePrefix: `${Math.random().toString(36).slice(2, 6)}-`,
    ...options,
  });
  const listening = await ads.servePlaintext({ port, host: "127.0.0.1", setting: "TEST_PORT" }, authentication);
  return {
    address: `127.0.0.1:${listening.port}`,
    port: listening.port,
    source,
    ads,
    connected,
    queue,
    deliveries,
    metrics,
    [Symbol.asyncDispose]: async () => {
      await listening[Symbol.asyncDispose]();
      await ads[Symbol.asyncDispose]();
    },
  };
}
