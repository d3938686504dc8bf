/**
 * ca: proves who calls and signs what they may have.
 *
 * The composition root. Resources are acquired top to bottom and released bottom to top.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { droppedConnections, serveGrpcTls, writeCertificateFiles } from "@flotilla/auth/serving";
import { type Bus, createSeal, readSeal, type Seal } from "@flotilla/bus";
import {
  createLogger,
  createMetrics,
  delay,
  FailingWork,
  type Health,
  keepRunning,
  type Logger,
  type LogLevel,
  orAborted,
  serveHealth,
} from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { CaError } from "./errors.ts";
import { type Cluster, delegateOf, followClusters, openCluster } from "./kubernetes/cluster.ts";
import { distributeRoots } from "./kubernetes/distribute-roots.ts";
import { ensureSecret, readSecret, sealKey, storePasswords } from "./kubernetes/initial-secret.ts";
import { followMesh } from "./mesh/follow-mesh.ts";
import { MeshTrust } from "./mesh/mesh-trust.ts";
import { documentStore } from "./roots/document-store.ts";
import type { SigningMaterial } from "./roots/material.ts";
import type { MaterialSource } from "./roots/material-source.ts";
import { writeRootFile } from "./roots/root-file.ts";
import { rootsBucket, sealedDocument } from "./roots/sealed-document.ts";
import { diskStore, rootOnDisk, type SelfSignedStore } from "./roots/self-signed-store.ts";
import { createRoots } from "./rotation/create-roots.ts";
import type { Rotation } from "./rotation/rotation.ts";
import { ownTtlMs, writeFirstClientCertificate } from "./serve/client-certificate.ts";
import { createIssuer } from "./serve/create-issuer.ts";
import { createGrpcServer } from "./serve/grpc-service.ts";
import { OwnCertificate, ownCertificate } from "./serve/own-certificate.ts";
import { readSettings, type Settings } from "./settings.ts";
import { Anchors } from "./trust/anchors.ts";
import { fetchText } from "./trust/bundle-endpoint.ts";

/** How long the start waits for a bus that is away. */
const patienceMs = 5000;

export interface MainOptions {
  readonly log?: Logger;
  /** Called once certificates are issued, with the ports in use. */
  readonly onReady?: (ports: { readonly grpc: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: NodeJS.ProcessEnv, stop: AbortSignal, options: MainOptions = {}): Promise<void> {
  const config = readSettings(env);
  const log = options.log ?? createLogger("ca", config.logLevel as LogLevel);
  const metrics = createMetrics({ process: true });
  await using health = await serveHealth({
    service: "ca",
    version: manifest.version,
    port: config.healthPort,
    host: config.healthHost,
    setting: "HEALTH_PORT",
    log,
    metrics,
  });
  const trust = new MeshTrust({
    trustDomain: config.trustDomain,
    aliases: config.trustDomainAliases,
    file: join(config.selfSignedDir, "mesh.json"),
    log: log.child({ part: "mesh" }),
  });
  const failures = new FailingWork(metrics, health);
  const isRestored = await trust.restore();
  using cluster = await openCluster(config, log.child({ part: "kubernetes" }));
  const sealing = createSecrets(config, { cluster, health, log: log.child({ part: "kubernetes" }) }, stop);
  // Awaited with all that runs; failing before that is no failure that nobody looks at.
  sealing.catch(() => undefined);
  const loaded = Promise.withResolvers<Rotation>();
  const connected = Promise.withResolvers<Bus>();
  const onBus = async (bus: Bus, ended: AbortSignal): Promise<void> => {
    connected.resolve(bus);
    const running = await orAborted(loaded.promise, ended);
    const options = { what: "rotation", log: log.child({ part: "rotation" }), failures, random: Math.random };
    await keepRunning(() => running.run(bus, ended), options, ended);
  };
  const store = cluster?.store ?? (await selfSignedStore(config, () => orAborted(connected.promise, stop)));
  await writeFirstClientCertificate(config, { trust, store, log: log.child({ part: "bus" }) });
  const { clientCertificateDir: directory } = config;
  const hasBusCertificate = directory === undefined || existsSync(join(directory, "tls.crt"));
  const follow = {
    trust,
    isRestored,
    hasBusCertificate,
    replicas: config.busReplicas,
    health,
    metrics,
    seal: sealing,
    log: log.child({ part: "bus" }),
    onBus,
  };
  await using mesh = followMesh(config.busUrl, follow, stop);
  await mesh.known;
  const anchors = new Anchors({
    ...{ urls: config.bundleUrls, refreshMs: config.bundleRefreshMs, fetchText, log: log.child({ part: "trust" }) },
    onProblem: (reason) => health.setCondition("trust bundle", reason),
  });
  await using _anchors = { [Symbol.asyncDispose]: () => anchors.stop() };
  anchors.want(trust.anchors);
  trust.onChange(() => anchors.want(trust.anchors));
  const { source, active, rotation } = createRoots(config, { trust, anchors, store, cluster, health, log });
  if ((await firstMaterial(source, config.pollMs, stop)) === undefined) return;
  await rotation.restore();
  loaded.resolve(rotation);
  // Replicas that share a disk have the state there; in a cluster others may be in the middle of a rotation.
  if (config.busUrl !== undefined && cluster !== undefined)
    await Promise.race([rotation.known, mesh.following, mesh.away, delay(patienceMs, stop)]);
  const material = active.current;
  if (material === undefined || stop.aborted) return;
  await writeRootFile(config.rootFile, material.rootsPem);

  const inCluster = { settings: config, health, log: log.child({ part: "kubernetes" }) };
  await using clusters = followClusters(cluster, inCluster, stop);
  await Promise.race([clusters.known, delay(patienceMs, stop)]);
  const delegate = await delegateOf(config, cluster, trust, log.child({ part: "signer" }));
  const stages = { trust, anchors, active, rotation, metrics, health, log, cluster, pods: clusters.pods, delegate };
  const parts = createIssuer(config, stages);
  const own = { ...parts, trustDomain: () => trust.trustDomain, ttlMs: ownTtlMs };
  const first = await ownCertificate(material, own);
  if (config.clientCertificateDir !== undefined) await writeCertificateFiles(config.clientCertificateDir, first);
  await using tls = await serveGrpcTls({
    server: createGrpcServer(parts),
    material: first,
    host: config.host,
    port: config.port,
    setting: "CA_PORT",
    log: log.child({ part: "tls" }),
    dropped: droppedConnections(metrics),
  });
  const certificate = new OwnCertificate(first, {
    issue: () => ownCertificate(active.current ?? material, own),
    use: async (next) => {
      tls.reload(next);
      if (config.clientCertificateDir !== undefined) await writeCertificateFiles(config.clientCertificateDir, next);
    },
    log: log.child({ part: "tls" }),
    nowMs: own.nowMs,
  });
  trust.onChange(() => void certificate.renew());
  active.onChange(({ rootsPem }) => {
    void certificate.renew();
    writeRootFile(config.rootFile, rootsPem).catch((error: unknown) => log.error("roots not written", { error }));
  });
  health.markReady();
  log.info("certificates are issued", { host: config.host, port: tls.port, rootFile: config.rootFile });
  options.onReady?.({ grpc: tls.port, health: health.port });
  const distributing =
    cluster === undefined
      ? undefined
      : distributeRoots(
          {
            settings: config,
            api: cluster.api,
            active,
            version: manifest.version,
            log: log.child({ part: "kubernetes" }),
          },
          stop,
        );
  await Promise.all([sealing, mesh.following, source.follow(stop), certificate.follow(stop), distributing]);
}

/** The other services and Redis start when these Secrets are there, so they come before all else. Resolves to the seal key. */
async function createSecrets(
  { sealKeySecret, sealKeyFile, storeSecret, namespace }: Settings,
  { cluster, health, log }: { readonly cluster: Cluster | undefined; readonly health: Health; readonly log: Logger },
  stop: AbortSignal,
): Promise<Seal | undefined> {
  if (cluster === undefined) return readSeal(sealKeyFile);
  const common = { api: cluster.api, namespace, health, log };
  const key = sealKeySecret === undefined ? undefined : { ...common, ...sealKey, name: sealKeySecret };
  await Promise.all([
    key && ensureSecret(key, stop),
    storeSecret !== undefined && ensureSecret({ ...common, ...storePasswords, name: storeSecret }, stop),
  ]);
  if (key === undefined) return readSeal(sealKeyFile);
  // Its own pod starts before there is one to be mounted.
  const value = await readSecret({ ...key, field: "seal.key" }, stop);
  return value && createSeal(value);
}

/** Without a cluster. @throws CaError CA_BAD_MATERIAL for settings that do not go together */
async function selfSignedStore(config: Settings, bus: () => Promise<Bus>): Promise<SelfSignedStore> {
  const { selfSignedStore: place, selfSignedDir, busUrl, sealKeyFile } = config;
  if (place === "disk") return diskStore(selfSignedDir);
  if (busUrl === undefined || sealKeyFile === undefined)
    throw new CaError("CA_BAD_MATERIAL", "CA_SELF_SIGNED_STORE=bus needs BUS_URL and SEAL_KEY_FILE");
  if (busUrl.split(",").some((url) => URL.parse(url.trim())?.searchParams.has("certificates")))
    throw new CaError(
      "CA_BAD_MATERIAL",
      "CA_SELF_SIGNED_STORE=bus: BUS_URL asks for a certificate of the root that lies behind it",
    );
  const document = sealedDocument(
    async () => (await bus()).keyValue(rootsBucket, { isSealed: true }),
    createSeal(await readFile(sealKeyFile)),
  );
  return documentStore(document, () => rootOnDisk(selfSignedDir));
}

/** Bad material at the start is waited out, with its reason on the page: who repairs it need not restart us. */
async function firstMaterial(
  source: MaterialSource,
  pollMs: number,
  stop: AbortSignal,
): Promise<SigningMaterial | undefined> {
  while (!stop.aborted) {
    if (await source.load()) return source.current;
    await delay(Math.max(pollMs, 1000), stop);
  }
  return undefined;
}
