/**
 * xds-server: follows the changes of the fleet and streams to every proxy what it gets.
 *
 * The composition root, the one place that knows more than one stage. Resources are acquired top to
 * bottom and released bottom to top.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { openOwnCluster } from "@flotilla/auth/cluster";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { connectTelling, readSeal, type Seal, SetAside } from "@flotilla/bus";
import {
  createLogger,
  createMetrics,
  FailingWork,
  type Health,
  keepRunning,
  type Logger,
  type Metrics,
  releaseMemory,
  serveHealth,
  untilStopped,
} from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import manifest from "../package.json" with { type: "json" };
import { refusedCertificates } from "./app/ca-passthrough.ts";
import { createChangeFlow } from "./app/change-flow.ts";
import { Core } from "./app/core.ts";
import { createCoreSource } from "./app/core-source.ts";
import { Revocations } from "./app/revocations.ts";
import { createIdentity, plaintextAuthentication, serveSecure } from "./app/secure-port.ts";
import { serviceAccount, servingNames } from "./app/serving-material.ts";
import { createDebug } from "./debug/debug.ts";
import { serveDebugPages } from "./debug/pages.ts";
import { publishReplica } from "./debug/replica-record.ts";
import { publishTrustReports, type TrustReportOptions } from "./debug/trust-report.ts";
import { balanceStreams } from "./fleet/balance.ts";
import { Distribution, publishDistribution } from "./fleet/distribution.ts";
import { Machines, publishMachines } from "./fleet/machines.ts";
import { Ingest } from "./ingest/ingest.ts";
import { createIngestMetrics } from "./ingest/ingest-metrics.ts";
import { defaultAdsLimits } from "./serve/ads-limits.ts";
import { type AdsOptions, AdsServer } from "./serve/ads-server.ts";
import { joinObservers } from "./serve/observers.ts";
import { defaultStreamLimits } from "./serve/stream.ts";
import { createStreamMetrics } from "./serve/stream-metrics.ts";
import { readSettings, type Settings } from "./settings.ts";

const name = "xds-server";

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  const config = readSettings(env);
  const log = createLogger(name, config.logLevel);
  await untilStopped(() => run(config, log, stop), stop);
}

async function run(config: Settings, log: Logger, stop: AbortSignal): Promise<void> {
  const metrics = createMetrics({ process: true });
  const page = { service: name, version: manifest.version, host: config.healthHost, log, metrics };
  await using health = await serveHealth({ ...page, port: config.healthPort, setting: "HEALTH_PORT" });
  await using http = await serveHealth({ ...page, port: config.httpPort, setting: "HTTP_PORT" });

  const replica = config.podName ?? hostname();
  const core = new Core({ features: config });
  const source = createCoreSource(core);
  let isComplete = false;
  const trustDomains = () => trustDomainsOf(config, core.mesh);
  using cluster = await openOwnCluster(config);
  const revocations = new Revocations({ log, onChange: () => ads.endStreamsOf(peers.isRevoked) });
  const peers = createIdentity(config, { trustDomains, crls: () => revocations.crls, log, cluster });
  const { authenticator } = peers;
  await using certificate = keepOwnCertificate({
    ...{
      settings: config,
      namespace: config.namespace,
      serviceAccount,
      names: servingNames(config),
      port: config.tlsPort,
    },
    trustDomain: () => (isComplete ? trustDomains()[0] : undefined),
    log,
  });
  const seal = await readSeal(config.sealKeyFile);
  const setAside = new SetAside({ log, nowMs: Date.now });
  await using store = openStore({ url: config.storeUrl, log, mac: seal?.mac, unreadable: setAside });
  store.onState((state) => health.setCondition("store", state.connected ? undefined : `away: ${state.reason}`));

  const debug = createDebug({
    ...{ core, store, authenticator, metrics, version: manifest.version, settings: config },
    latest: () => source.latest,
    ingest: () => ingest,
    ads: () => ads,
  });
  const distribution = new Distribution({
    ...{ replica, core, streams: () => ads.streams(), position: () => source.position },
    ...{ epoch: () => ingest.epoch, lastChange: debug.lastChange, nowMs: Date.now },
    isSettling: () => flow.deliveries.open > 0,
  });
  const ingestMetrics = createIngestMetrics(metrics);
  const streamMetrics = createStreamMetrics(metrics);
  using flow = createChangeFlow({
    ...{
      source: revocations.watched(distribution.watched(debug.watched(source))),
      settings: config,
      metrics,
      streamMetrics,
      log,
    },
    refused: ingestMetrics.refused,
  });
  const complete = Promise.withResolvers<void>();
  const ingest: Ingest = new Ingest({
    source: flow,
    store,
    seal,
    setAside,
    log,
    metrics: ingestMetrics,
    nowMs: Date.now,
    publishers: config.publishers,
    onComplete: (from) => {
      flow.flush();
      log.info("the mesh is complete", { from, position: ingest.position });
      isComplete = true;
      complete.resolve();
    },
  });
  const machines = new Machines();
  await using ads: AdsServer = new AdsServer({
    source,
    scheduler: flow.queue,
    deliveries: flow.deliveries,
    debug: debug.answers,
    observer: joinObservers(debug.observer, machines.observer, distribution.observer),
    metrics: streamMetrics,
    log,
    limits: limitsOf(config),
    now: () => performance.now(),
    isReady: () => isComplete,
    noncePrefix: randomUUID().slice(0, 8),
    server: serverIdentifier(replica),
    apiNamespace: () => (config.apiAuth ? core.mesh.rootNamespace || config.namespace : undefined),
    onEbb: releaseMemory,
  });
  for (const port of config.debugOnHttp ? [health, http] : [health]) serveDebugPages(port, debug.pages, debug.rules);

  const failed = Promise.withResolvers<never>();
  const inBackground = (part: Promise<unknown>) => void part.catch((error: unknown) => failed.reject(error));
  const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));

  await loadFirst(store, ingest, log);
  const onProblem = (reason: string | undefined) => health.setCondition("remote clusters", reason, { blocks: false });
  if (cluster !== undefined) inBackground(cluster.followRemotes({ log, onProblem }, stop));
  const trust: TrustReportOptions = { core, streams: () => ads.streams(), log };
  const onResumed = () => ingestMetrics.resumed.add(1);
  inBackground(
    followBus(config, { ingest, trust, machines, distribution, health, metrics, seal, setAside, onResumed, log }, stop),
  );
  inBackground(ingest.persist(stop));
  await Promise.race([complete.promise, failed.promise, stopped]);
  if (stop.aborted) return;

  await using _plain = await ads.servePlaintext(
    { host: config.host, port: config.port, setting: "XDS_PORT" },
    plaintextAuthentication(config, authenticator),
    refusedCertificates,
  );
  inBackground(serveSecure({ settings: config, ads, peers, certificate, cluster, health, metrics, log }, stop));
  const id = randomUUID();
  const streams = () => ads.streams();
  const recorded = publishReplica({ id, replica, pages: config.debugUrl, streams, store, log }, stop);
  inBackground(recorded);
  const { handOffPerSecond: perSecond } = config;
  const onHandedOff = () => streamMetrics.handedOff();
  const disconnect = (stream: string) => void ads.disconnect(stream);
  inBackground(
    balanceStreams({ id, streams, disconnect, store, perSecond, random: Math.random, onHandedOff, log }, stop),
  );
  health.markReady();
  http.markReady();
  log.info("serving", { port: config.port });
  await Promise.race([failed.promise, stopped]);
  // Before the streams end: other replicas must not hand theirs off to this one.
  await recorded;
}

function limitsOf(config: Settings): AdsOptions["limits"] {
  const { maxRequestBytes, maxStreams, keepaliveMs, keepaliveTimeoutMs, maxConnectionAgeMs } = config;
  return {
    ...defaultStreamLimits,
    ...defaultAdsLimits,
    ...{ maxRequestBytes, keepaliveMs, keepaliveTimeoutMs, maxConnectionAgeMs },
    maxStreamsPerConnection: maxStreams,
    newStreamsPerSecond: config.streamsPerSecond,
    stuckMs: config.stuckClientMs,
    maxNames: config.maxNames,
  };
}

function trustDomainsOf({ trustDomain }: Settings, mesh: Core["mesh"]): readonly [string, ...string[]] {
  return [trustDomain ?? (mesh.trustDomain || "cluster.local"), ...mesh.trustDomainAliases];
}

/** As istiod names itself to its clients: tools read the id and the version out of it. */
function serverIdentifier(replica: string): string {
  return JSON.stringify({ Component: "istiod", ID: replica, Info: { version: manifest.version } });
}

/** A store that is there has the snapshot at once; one that is away holds nothing up. */
async function loadFirst(store: ReturnType<typeof openStore>, ingest: Ingest, log: Logger): Promise<void> {
  const deadline = performance.now() + 2_000;
  while (!store.state.connected && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (!store.state.connected) {
    log.warn("redis is away, going on without a snapshot");
    return;
  }
  await ingest.loadSnapshot();
}

interface Following {
  readonly ingest: Ingest;
  readonly trust: TrustReportOptions;
  readonly machines: Machines;
  readonly distribution: Distribution;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly seal: Seal | undefined;
  readonly setAside: SetAside;
  readonly onResumed: () => void;
  readonly log: Logger;
}

async function followBus(
  config: Settings,
  { ingest, trust, machines, distribution, health, metrics, seal, setAside, onResumed, log }: Following,
  stop: AbortSignal,
): Promise<void> {
  const { busUrl: url, busReplicas: replicas } = config;
  await using bus = await connectTelling(
    { url, replicas, clientName: name, seal, onResumed, log, health, metrics, setAside },
    stop,
  );
  const failures = new FailingWork(metrics, health);
  // What the bus does to a report is no reason to end streams.
  const keep = (what: string, work: () => Promise<void>) =>
    keepRunning(work, { what, log, failures, random: Math.random }, stop);
  await Promise.all([
    keep("following the bus", () => ingest.follow(bus, stop)),
    keep("trust reports", () => publishTrustReports(bus, trust, stop)),
    keep("distribution reports", () => publishDistribution(bus, { distribution, log }, stop)),
    keep("reports of machines", () => publishMachines(bus, { machines, log }, stop)),
  ]);
}
