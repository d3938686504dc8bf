/**
 * config-controller: reads configuration, decides what is in force, publishes what changes.
 *
 * The composition root: resources are acquired from top to bottom and released from bottom to top. `app/` has the wiring of each area.
 */
import { openPageReviewer } from "@flotilla/auth/cluster";
import { startService } from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { openApiStore, runApi } from "./api/run-api.ts";
import { connect } from "./app/connect.ts";
import { serveDebugPages, watchConditions } from "./app/pages.ts";
import { ProblemReports } from "./app/problem-reports.ts";
import { publishView } from "./app/publishing.ts";
import { openView } from "./app/view.ts";
import { runDuties } from "./duties/run-duties.ts";
import { PublishedConfig } from "./follow/published-config.ts";
import { StoredObjects } from "./gateway-status/stored-objects.ts";
import { openLedger } from "./ledger/open-ledger.ts";
import { declareMetrics } from "./metrics.ts";
import { type ConfigService, readSettings, settings as table } from "./settings.ts";
import { openStatus } from "./status/open-status.ts";

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  const { version } = manifest;
  await startService(
    { name: "config-controller", version, settings: readSettings(env), table, processMetrics: true },
    run,
    stop,
  );
}

async function run(service: ConfigService): Promise<void> {
  const { version, settings, health, failures, log, stop } = service;
  const metrics = declareMetrics(service.metrics);
  await using connection = await connect(service);
  const { bus, seal, certificate } = connection;

  const durable = await openApiStore(settings, { bus, seal, health, failures, log }, stop);
  const published = new PublishedConfig({ bus, seal, log });
  const problems = new ProblemReports();
  const onProblems = () => problems.note();
  const stored = new StoredObjects();
  await using view = await openView(service, { certificate, durable, published, onProblems, stored, metrics });
  const { sources, store } = view;
  const refused = () => sources.flatMap((source) => source.problems());
  const status = openStatus({
    bus,
    published,
    refused,
    conflicts: () => store.conflicts(),
    placeOf: (key) => store.get(key)?.provenance,
    analysis: { isOn: settings.analyzes, maxServices: settings.analyzedServices },
    log: log.child({ part: "status" }),
  });
  problems.begin(service, { view, status, metrics });

  const { ledgerGenerations: size, digestIntervalMs: compareEveryMs } = settings;
  const history = openLedger({ bus, published, size, compareEveryMs, health, failures, log });
  using reviewer = await openPageReviewer(settings);
  serveDebugPages(service, { view, status, ledger: history.ledger, published, reviewer });
  await published.begin();

  const serving = { settings, certificate, bus, compareEveryMs, health, failures, log };
  const api = { ...serving, view: store, order: view.order, metrics: metrics.api };
  const onStatusWritten = () => metrics.statusWrites.add(1);
  const { mesh, proxyConfigs } = view;
  const feeding = { status: status.feed, stored, onStatusWritten, bus, published };
  const duties = { settings, version, mesh, proxyConfigs, ...feeding, log };
  await service.runParts([
    publishView(service, { connection, view, metrics }),
    watchConditions(sources, health, stop),
    // Failures of these on the bus are no reason to stop publishing.
    service.keepRunning("following the published configuration", (until) => published.follow(until)),
    service.keepRunning("the history", history.run),
    service.keepRunning("reports of proxies and registries", (until) => status.run(until)),
    durable && runApi({ ...api, durable }, stop),
    runDuties(duties, stop),
  ]);
}
