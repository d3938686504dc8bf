/**
 * config-controller: reads configuration, decides what is in force, publishes what changes.
 *
 * This is the composition root, the one place that knows which implementation stands behind each
 * interface. Resources are acquired top to bottom and released bottom to top.
 */

import { pageAccess } from "@flotilla/auth";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { attestEvery, connectTelling, createPublisher, readSeal } from "@flotilla/bus";
import { PublishingDuty } from "@flotilla/leadership";
import type { Config, ConfigKey } from "@flotilla/model";
import { meshConfigKey } from "@flotilla/registry/config";
import {
  createLogger,
  createMetrics,
  delay,
  FailingWork,
  type HttpHandler,
  keepRunning,
  parseSettings,
  releaseMemory,
  serveHealth,
  untilStopped,
} from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import manifest from "../package.json" with { type: "json" };
import { AggregateStore } from "./aggregate/aggregate-store.ts";
import { mergeSources, puts } from "./aggregate/merge-sources.ts";
import { serviceAccount } from "./api/certificate.ts";
import { openApiStore, runApi } from "./api/run-api.ts";
import { listIgnored, listProblems } from "./debug/problems.ts";
import { ignoredReporter, oncePerTurn, problemReporter } from "./debug/report-problems.ts";
import { watchConditions } from "./debug/source-conditions.ts";
import type { IngressSettings } from "./duties/ingress-rules.ts";
import { runDuties } from "./duties/run-duties.ts";
import { PublishedConfig } from "./follow/published-config.ts";
import { diffPage, generationPage, historyPage } from "./ledger/ledger-pages.ts";
import { openLedger } from "./ledger/open-ledger.ts";
import { declareDutyGauge, declareMetrics, declareObjectsGauge } from "./metrics.ts";
import { publishChanges, sendable } from "./publish/publish-changes.ts";
import { type Settings, settings } from "./settings.ts";
import { openStatus } from "./status/open-status.ts";
import type { ConfigSource } from "./watch/config-source.ts";
import { LastGood, lastGoodName } from "./watch/last-good.ts";
import { openSources } from "./watch/open-sources.ts";

const name = "config-controller";
const releaseAfterMs = 2_000;

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  await untilStopped(() => run(parseSettings(settings, env), stop), stop);
}

async function run(config: Settings, stop: AbortSignal): Promise<void> {
  const log = createLogger(name, config.logLevel);
  const registry = createMetrics();
  const metrics = declareMetrics(registry);

  await using health = await serveHealth({
    service: name,
    version: manifest.version,
    host: config.healthHost,
    port: config.healthPort,
    setting: "HEALTH_PORT",
    log,
    metrics: registry,
  });
  const failures = new FailingWork(registry, health);
  const seal = await readSeal(config.sealKeyFile);
  if (seal === undefined) health.setCondition("seal", "SEAL_KEY_FILE is not set: Secrets are held back");
  const account = { namespace: config.namespace, serviceAccount };
  await using certificate = keepOwnCertificate({
    ...{ settings: config, ...account, port: config.healthPort, log },
    names: config.apiPort === undefined ? [] : ["localhost"],
  });
  const { busUrl: url, busReplicas: replicas } = config;
  await using bus = await connectTelling(
    { url, replicas, clientName: name, seal, log, health, metrics: registry },
    stop,
  );
  await using opened = new AsyncDisposableStack();

  let report = (): void => undefined;
  const durable = await openApiStore(config, { bus, seal, health, failures, log }, stop);
  const published = new PublishedConfig({ bus, seal, log });
  const holding = {
    published: (isWanted: (config: Config) => boolean) =>
      [...published.all()].map((one) => one.config).filter(isWanted),
    onHeld: (directory: string, objects: number) => metrics.held.set(objects, { directory }),
  };
  const sources: readonly ConfigSource[] = await openSources(
    { settings: config, certificate, log, onProblems: () => report(), durable, holding },
    stop,
  );
  for (const source of sources) opened.use(source);
  const order = [...sources.map((source) => source.name), lastGoodName];
  const store = new AggregateStore(order, () => report());
  declareObjectsGauge(registry, () => store.counts());
  const lastGood = new LastGood({ sources, view: store, published, nowMs: Date.now });
  const status = openStatus({
    ...{ bus, published, conflicts: () => store.conflicts() },
    refused: () => sources.flatMap((source) => source.problems()),
  });
  const problems = () => listProblems(sources, store);
  const tell = problemReporter(problems, metrics.refused, log);
  const reportIgnored = ignoredReporter(() => listIgnored(sources), log);
  const tellAll = () => {
    reportIgnored();
    health.setCondition("refused", refusalText(tell()));
    metrics.conflicts.set(store.conflicts().length);
    status.noteRefused();
    lastGood.note();
  };
  tellAll();
  report = oncePerTurn(tellAll);
  const { debugAuth: isOn, workDir, namespace } = config;
  const guarded = pageAccess({ isOn, workDir, namespace, log });
  health.route(
    "GET",
    "/debug/problems",
    guarded(() => ({ json: { problems: problems(), ignored: listIgnored(sources) } })),
  );
  health.route(
    "GET",
    "/debug/configz",
    guarded(() => ({ json: { objects: store.all().filter(isOpen) } })),
  );

  const { ledger, run: keepLedger } = openLedger({
    ...{ bus, published, size: config.ledgerGenerations, health, failures, log },
    compareEveryMs: config.digestIntervalMs,
  });
  await published.begin();
  const page = (path: string, handler: HttpHandler) => health.route("GET", `/debug/${path}`, guarded(handler));
  page("objects", status.page);
  page("history", historyPage(ledger));
  page("generation", generationPage(ledger));
  page("diff", diffPage(ledger));

  const publisher = createPublisher({
    ...{ bus, publisher: name, seal, log, nowMs: Date.now },
    current: () => sendable(puts(store), seal !== undefined),
  });
  const onRepaired = (count: number) => metrics.publishedAgain.add(count);
  const attesting = { bus, publisher, everyMs: config.digestIntervalMs, log, nowMs: Date.now, onRepaired };
  const duty = new PublishingDuty({
    ...{ bus, publisher, controller: name, holder: config.podName, log, failures },
    whilePublishing: (until) => attestEvery(attesting, until),
  });
  declareDutyGauge(registry, () => duty.isOurs);
  void duty.settled.then(() => {
    health.markReady();
    // What reading everything took is not needed again.
    void delay(releaseAfterMs, stop).then(() => {
      if (!stop.aborted) releaseMemory();
    });
  });
  const onSnapshot = (keep: (key: ConfigKey) => boolean) =>
    duty.know(() => [sendable(puts(store), seal !== undefined), { keep: (key) => "kind" in key && keep(key) }]);
  const options = {
    ...{ publisher: duty, metrics, log, canSeal: seal !== undefined, nowMs: Date.now, onSnapshot },
    isInView: (key: ConfigKey) => store.has(key),
  };
  const serving = {
    settings: config,
    certificate,
    bus,
    compareEveryMs: config.digestIntervalMs,
    view: store,
    order,
    health,
    failures,
    log,
  };
  const api = durable && runApi({ ...serving, durable, metrics: metrics.api }, stop);
  const duties = {
    ...{ settings: config, version: manifest.version, mesh: () => meshOf(store), status: status.feed, log },
    onStatusWritten: () => metrics.statusWrites.add(1),
  };
  // What the bus does to these is no reason to stop publishing.
  const keep = (what: string, work: (until: AbortSignal) => Promise<void>) =>
    keepRunning(work, { what, log, failures, random: Math.random }, stop);
  await Promise.all([
    publishChanges(mergeSources([...sources, lastGood], store, stop), options, stop),
    duty.run(stop),
    watchConditions(sources, health, stop),
    keep("following the published configuration", (until) => published.follow(until)),
    keep("the history", keepLedger),
    keep("reports of proxies and registries", (until) => status.run(until)),
    api,
    runDuties(duties, stop),
  ]);
}

/** For the readiness page: the first of them, and how many more there are. */
function refusalText([first, ...others]: readonly SourceProblem[]): string | undefined {
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : `, and ${others.length} more on /debug/problems`;
  return `${first.object ?? first.file}: ${[first.field, first.reason].filter(Boolean).join(" ")}${more}`;
}

function meshOf(store: AggregateStore): IngressSettings | undefined {
  return store.get(meshConfigKey)?.spec as IngressSettings | undefined;
}

/** Debug pages show no keys. */
function isOpen({ key }: { readonly key: { readonly kind: string } }): boolean {
  return key.kind !== "Secret";
}
