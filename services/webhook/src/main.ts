/**
 * webhook: answers the Kubernetes API's admission requests: pods get their sidecar, configuration is judged.
 *
 * The composition root. It keeps all it needs to answer, so that it goes on when every other service is away.
 */
import { join } from "node:path";
import { keepOwnCertificate, type OwnCertificate } from "@flotilla/auth/serving";
import { connectTelling, readSeal } from "@flotilla/bus";
import {
  createLogger,
  createMetrics,
  FailingWork,
  type Health,
  keepRunning,
  type Logger,
  type Metrics,
  orAborted,
  parseSettings,
  serveHealth,
  untilStopped,
} from "@flotilla/runtime";
import { createValidator } from "@flotilla/validation";
import manifest from "../package.json" with { type: "json" };
import { createInjectionHandler } from "./inject/answer.ts";
import { valueOverrides } from "./inject/value-settings.ts";
import { declareMetrics, type WebhookMetrics } from "./metrics.ts";
import { followCertificate, issuedNames, serviceAccount } from "./serve/certificate.ts";
import { followClientRule } from "./serve/client-certificate.ts";
import { type HttpsServer, type KeyPair, serveHttps } from "./serve/https-server.ts";
import { createRouter } from "./serve/router.ts";
import { type Settings, settings, usesNativeSidecars } from "./settings.ts";
import { createValidationHandler } from "./validate/answer.ts";
import { type InjectionConfigSource, injectionConfigSource } from "./watch/injection-config.ts";
import { keepCaBundles } from "./watch/keep-ca-bundles.ts";
import { MeshState } from "./watch/mesh-state.ts";

const name = "webhook";

export interface MainOptions {
  readonly log?: Logger;
  /** Called once requests are answered, with the port in use. */
  readonly onReady?: (ports: { readonly https: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(
  env: Readonly<Record<string, string | undefined>>,
  stop: AbortSignal,
  options: MainOptions = {},
): Promise<void> {
  await untilStopped(() => run(parseSettings(settings, env), stop, options), stop);
}

async function run(config: Settings, outer: AbortSignal, options: MainOptions): Promise<void> {
  const log = options.log ?? createLogger(name, config.logLevel);
  const pages = createMetrics();
  const metrics = declareMetrics(pages);
  // A part that fails ends the others too.
  const ended = new AbortController();
  const stop = AbortSignal.any([outer, ended.signal]);

  await using health = await serveHealth({
    service: name,
    version: manifest.version,
    host: config.healthHost,
    port: config.healthPort,
    setting: "HEALTH_PORT",
    log,
    metrics: pages,
  });
  const account = { namespace: config.namespace, serviceAccount };
  await using certificate = keepOwnCertificate({
    ...{ settings: config, ...account, port: config.port, log: log.child({ part: "certificate" }) },
    names: issuedNames(config),
  });
  const mesh = new MeshState(join(config.workDir, "webhook", "mesh.json"), log.child({ part: "mesh" }));
  if (!(await mesh.restore())) health.setCondition("mesh", "no mesh configuration heard yet: the defaults hold");
  const injection = followInjection(config, metrics, health, log, stop);
  const answer = createAnswer(config, { mesh, injection, metrics, health, log });

  try {
    await Promise.all([
      injection.following,
      followMesh(config, mesh, { pages, health, log }, stop),
      keepCaBundles(config, { version: manifest.version, log: log.child({ part: "configurations" }) }, stop),
      serve(config, { answer, certificate, injection, metrics, health, log, options }, stop),
    ]);
  } finally {
    ended.abort(stop.reason);
  }
}

interface Parts {
  readonly injection: InjectionConfigSource;
  readonly metrics: WebhookMetrics;
  readonly health: Health;
  readonly log: Logger;
}

function followInjection(
  config: Settings,
  metrics: WebhookMetrics,
  health: Health,
  log: Logger,
  stop: AbortSignal,
): InjectionConfigSource {
  return injectionConfigSource(
    {
      configFile: config.injectionConfigFile,
      valuesFile: config.injectionValuesFile,
      adjust: valueOverrides(config),
      pollMs: config.filePollMs,
      log: log.child({ part: "injection" }),
      onStale: (reason) => {
        health.setCondition("injection configuration", reason);
        metrics.staleFiles.set(reason === undefined ? 0 : 1, { part: "injection" });
      },
    },
    stop,
  );
}

function createAnswer(
  config: Settings,
  { mesh, injection, metrics, health, log }: Parts & { readonly mesh: MeshState },
) {
  const inject = createInjectionHandler({
    enabled: config.injectEnabled,
    config: injection.current,
    environment: {
      revision: config.revision,
      nativeSidecars: usesNativeSidecars(config),
      platform: config.platform,
      compliancePolicy: config.compliancePolicy,
    },
    mesh: () => mesh.mesh,
    namespaceAnnotations: (namespace) => mesh.namespaceAnnotations(namespace),
    log: log.child({ part: "inject" }),
    metrics: metrics.injection,
    nowMs: () => performance.now(),
  });
  const validate = createValidationHandler({
    validate: createValidator(),
    log: log.child({ part: "validate" }),
    metrics: metrics.validation,
  });
  const isReady = () => health.readiness.report().ready;
  const onHttpError = (status: number): void => metrics.httpErrors.add(1, { status });
  return createRouter({ inject, validate, isReady, onHttpError, log });
}

/** The bus may be away at the start and later: what is known holds meanwhile. */
async function followMesh(
  { busUrl, busReplicas, sealKeyFile }: Settings,
  mesh: MeshState,
  { pages, health, log }: Pick<Parts, "health" | "log"> & { readonly pages: Metrics },
  stop: AbortSignal,
): Promise<void> {
  const seal = await readSeal(sealKeyFile);
  await using bus = await connectTelling(
    {
      url: busUrl,
      replicas: busReplicas,
      clientName: name,
      seal,
      log: log.child({ part: "bus" }),
      health,
      metrics: pages,
    },
    stop,
  );
  const follow = (until: AbortSignal) => mesh.follow(bus, () => health.setCondition("mesh", undefined), until);
  const failures = new FailingWork(pages, health);
  const options = { what: "following the mesh", log: log.child({ part: "bus" }), failures, random: Math.random };
  await keepRunning(follow, options, stop);
}

interface ServeParts extends Parts {
  readonly answer: ReturnType<typeof createRouter>;
  readonly certificate: OwnCertificate;
  readonly options: MainOptions;
}

async function serve(config: Settings, parts: ServeParts, stop: AbortSignal): Promise<void> {
  const { answer, certificate, injection, metrics, health, log, options } = parts;
  const { promise: first, resolve } = Promise.withResolvers<KeyPair>();
  let server: HttpsServer | undefined;
  let newest: KeyPair | undefined;
  const following = followCertificate(
    {
      settings: config,
      certificate,
      log: log.child({ part: "certificate" }),
      onCertificate: (keyPair) => {
        newest = keyPair;
        server?.reload(keyPair);
        resolve(keyPair);
      },
      onTrouble: (reason) => {
        health.setCondition("certificate", reason);
        metrics.staleFiles.set(reason === undefined ? 0 : 1, { part: "certificate" });
      },
    },
    stop,
  );
  const { clientCaFile: caFile, clientNames: names, filePollMs: pollMs } = config;
  const onChange = (): void => void (newest && server?.reload(newest));
  const clients = caFile === undefined ? undefined : followClientRule({ caFile, names, pollMs, log, onChange }, stop);
  const serving = async (): Promise<void> => {
    await injection.first;
    const keyPair = await orAborted(first, stop);
    const at = { host: config.host, port: config.port, setting: "WEBHOOK_PORT" };
    await using open = await serveHttps({
      ...at,
      keyPair: newest ?? keyPair,
      log: log.child({ part: "https" }),
      clients: clients?.rule,
      answer,
    });
    server = open;
    health.markReady();
    log.info("admission requests are answered", { host: config.host, port: open.port });
    options.onReady?.({ https: open.port, health: health.port });
    await following;
  };
  await Promise.all([serving(), following, clients?.following]);
}
