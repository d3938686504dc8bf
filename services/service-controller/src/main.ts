/**
 * service-controller: reads registries, publishes services and endpoints.
 *
 * The composition root: resources are acquired top to bottom and released bottom to top.
 */

import { pageAccess } from "@flotilla/auth";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { attestEvery, connectTelling, createPublisher, readSeal } from "@flotilla/bus";
import { clusterOf, openKubeApi } from "@flotilla/kube-api";
import { PublishingDuty } from "@flotilla/leadership";
import type { Change } from "@flotilla/model";
import { ClusterRegistries } from "@flotilla/registry";
import {
  aborted,
  createLogger,
  createMetrics,
  FailingWork,
  type HttpHandler,
  keepRunning,
  parseSettings,
  serveHealth,
  untilStopped,
} from "@flotilla/runtime";
import { ProblemLog } from "@flotilla/sources";
import manifest from "../package.json" with { type: "json" };
import { auditedSource } from "./audit/audited-source.ts";
import { declareClusterGauges } from "./cluster-metrics.ts";
import {
  clustersPage,
  digestsPage,
  endpointsPage,
  instancesPage,
  listProblems,
  servicesPage,
} from "./debug/registry-pages.ts";
import { exportServices } from "./export/export-services.ts";
import { ServiceExporter } from "./export/service-exporter.ts";
import { declareDutyGauge, declareMetrics } from "./metrics.ts";
import { Progress } from "./publish/progress.ts";
import { isUnread, publishChanges } from "./publish/publish-changes.ts";
import { entryWriter, writeEntries } from "./register/show-machines.ts";
import { runRegistry } from "./registry/run-registry.ts";
import { type Settings, settings } from "./settings.ts";
import { configEvents } from "./watch/config-events.ts";
import { objectDirectory } from "./watch/directory-source.ts";
import type { InputSource } from "./watch/input-source.ts";
import { machineSource } from "./watch/machine-source.ts";
import { consul, kubernetes, multiClusterApi } from "./watch/open-registries.ts";
import { publishedAddresses } from "./watch/published-addresses.ts";
import { registryFile } from "./watch/registry-file.ts";

const name = "service-controller";
const reportEveryMs = 2_000;

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  await untilStopped(() => run(parseSettings(settings, env), stop), stop);
}

async function run(config: Settings, stop: AbortSignal): Promise<void> {
  const log = createLogger(name, config.logLevel);
  const pages = createMetrics();
  const metrics = declareMetrics(pages);

  await using health = await serveHealth({
    service: name,
    version: manifest.version,
    host: config.healthHost,
    port: config.healthPort,
    setting: "HEALTH_PORT",
    log,
    metrics: pages,
  });
  const failures = new FailingWork(pages, health);
  const namespace = config.systemNamespace;
  const account = { namespace, serviceAccount: `flotilla-${name}` };
  await using _certificate = keepOwnCertificate({ settings: config, ...account, port: config.healthPort, log });
  const { busUrl: url, busReplicas: replicas } = config;
  const seal = await readSeal(config.sealKeyFile);
  await using bus = await connectTelling({ url, replicas, clientName: name, seal, log, health, metrics: pages }, stop);
  await using opened = new AsyncDisposableStack();

  const registry = new ClusterRegistries(config);
  for (const service of await publishedAddresses(bus, stop)) registry.remember(service);
  const publisher = createPublisher({ bus, publisher: name, seal: undefined, log, nowMs: Date.now });
  const onRepaired = (count: number) => metrics.publishedAgain.add(count);
  const attesting = { bus, publisher, everyMs: config.digestIntervalMs, log, nowMs: Date.now, onRepaired };
  const progress = new Progress();
  const duty = new PublishingDuty({
    ...{ bus, publisher, controller: name, holder: config.podName, log, failures },
    whilePublishing: async (until) => {
      const tell = (attempt: AbortSignal) => progress.tell({ bus, publisher, log }, attempt);
      const telling = keepRunning(tell, { what: "progress reports", log, failures, random: Math.random }, until);
      await Promise.all([attestEvery(attesting, until), telling]);
    },
  });
  declareDutyGauge(pages, () => duty.isOurs);
  const known = new ProblemLog();
  const reporting = () => [...sources, writer, exporter].filter((one) => one !== undefined);
  const report = () => {
    const refused = listProblems(reporting(), registry);
    const { appeared, over } = known.update(refused);
    for (const problem of appeared) log.warn("refused", { ...problem });
    for (const { file, object, reason } of over) log.info("refusal is over", { file, object, reason });
    metrics.refused.set(refused.length);
    const text = refused.length === 0 ? undefined : `${refused.length} objects or files, see /debug/problems`;
    health.setCondition("refused", text);
  };
  const events = configEvents({ bus, nowMs: Date.now });
  const audit = {
    ownCluster: config.clusterId,
    everyMs: config.auditEveryMs,
    settleMs: config.auditSettleMs,
    log,
    nowMs: Date.now,
    onRepair: (shard: string, count: number) => metrics.repaired.add(count, { registry: shard.split("/", 1)[0] ?? "" }),
  };
  const cluster = await clusterOf(config);
  const kube = kubernetes(cluster, config, metrics, log, report);
  const clusters = () => kube.flatMap((source) => source.clusters());
  declareClusterGauges(pages, clusters, Date.now);
  const audited = [...kube, ...(await consul(config, log, report))].map((source) => auditedSource(source, audit));
  const sources: readonly InputSource[] = [
    ...(config.configDir === undefined ? [] : [objectDirectory({ path: config.configDir, onProblems: report })]),
    ...(config.registryFile === undefined ? [] : [registryFile({ path: config.registryFile, onProblems: report })]),
    ...audited,
    ...(config.autoRegistration
      ? [machineSource({ bus, graceMs: config.machineGraceMs, log, failures, nowMs: Date.now })]
      : []),
    events,
  ];
  for (const source of sources) opened.use(source);
  const writesMachines = cluster !== undefined && config.autoRegistration;
  const writesExports = cluster !== undefined && config.autoExport;
  const api = writesMachines || writesExports ? opened.use(openKubeApi(cluster)) : undefined;
  const writer = writesMachines && api ? entryWriter(api, () => registry.machineRecords(), config, log) : undefined;
  const exporter = writesExports
    ? new ServiceExporter({
        services: () => registry.exportable(),
        apis: () => new Map(kube.flatMap((source) => [...source.apis()])),
        ...{ multiClusterApi: multiClusterApi(config), log, nowMs: Date.now },
      })
    : undefined;
  const { debugAuth: isOn, workDir } = config;
  const guarded = pageAccess({ isOn, workDir, namespace, log });
  const page = (path: string, answer: HttpHandler) => health.route("GET", `/debug/${path}`, guarded(answer));
  page("registryz", (request) => servicesPage(registry, request));
  page("endpointz", (request) => endpointsPage(registry, clusters(), Date.now(), request));
  page("instancesz", (request) => instancesPage(registry, request));
  page("clusterz", () => clustersPage(clusters(), Date.now()));
  page("digestz", () => digestsPage(audited));
  page("problems", () => ({ json: { problems: listProblems(reporting(), registry) } }));

  // What is wrong with objects in force is found by looking at all of them: too much for each change.
  const timer = setInterval(report, reportEveryMs);
  opened.defer(() => clearInterval(timer));
  const onSnapshot = (unread: readonly string[]) =>
    duty.know(() => {
      const old = kube.flatMap((source) => source.old());
      const isOld = (key: Change["key"]) => isUnread(key, old);
      return [registry.state(), { keep: (key) => isUnread(key, unread) || isOld(key), isOld }];
    });
  void duty.settled.then(() => health.markReady());
  const options = {
    publisher: duty,
    metrics,
    log,
    nowMs: Date.now,
    onSnapshot,
    onRead: (position: number) => progress.note(position),
  };
  await Promise.all([
    duty.run(stop),
    publishChanges(runRegistry(registry, sources, stop), options, stop),
    // Before everything is read, machines would look gone.
    api &&
      Promise.race([duty.settled, aborted(stop)]).then(() => {
        const common = { api, version: manifest.version, namespace: config.systemNamespace, log };
        return Promise.all([
          writer && writeEntries({ ...common, writer, bus }, stop),
          exporter && exportServices({ ...common, exporter }, stop),
        ]);
      }),
  ]);
}
