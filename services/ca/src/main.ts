/**
 * ca: proves who calls and signs what they may have.
 *
 * The composition root. Resources are acquired top to bottom and released bottom to top.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { serveGrpcTls } from "@flotilla/auth/serving";
import type { Bus } from "@flotilla/bus";
import {
  createLogger,
  createMetrics,
  delay,
  type Health,
  type Logger,
  type LogLevel,
  type Metrics,
  orAborted,
  serveHealth,
} from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { type AuthenticatorParts, createAuthenticator } from "./authenticate/authenticators.ts";
import { PodTable } from "./authorize/pod-table.ts";
import type { ServingRules } from "./authorize/serving-names.ts";
import { type Config, parseConfig } from "./config.ts";
import { changeRotation, rotationPage } from "./debug/rotation-page.ts";
import { statusPage } from "./debug/status-page.ts";
import { followMesh } from "./mesh/follow-mesh.ts";
import { MeshTrust } from "./mesh/mesh-trust.ts";
import { declareMetrics } from "./metrics.ts";
import type { SigningMaterial } from "./roots/material.ts";
import { MaterialSource } from "./roots/material-source.ts";
import { writeRootFile } from "./roots/root-file.ts";
import { diskStore } from "./roots/self-signed-store.ts";
import { ActiveMaterial } from "./rotation/active-material.ts";
import { Rotation } from "./rotation/rotation.ts";
import type { IssuerParts } from "./serve/create-certificate.ts";
import { createGrpcServer } from "./serve/grpc-service.ts";
import { ownCertificate, renewByHalf } from "./serve/own-certificate.ts";
import { FairQueue } from "./sign/fair-queue.ts";
import { serialSource } from "./sign/serials.ts";
import { Anchors } from "./trust/anchors.ts";
import { fetchText } from "./trust/bundle-endpoint.ts";

/** Of our own serving certificate. */
const ownTtlMs = 86_400_000;
/** How long the start waits for a bus that is away. */
const patienceMs = 5000;

export interface MainOptions {
  readonly log?: Logger;
  /** The API servers that can be asked about tokens. */
  readonly clusters?: AuthenticatorParts["clusters"];
  /** Called once certificates are issued, with the ports in use. */
  readonly onReady?: (ports: { readonly grpc: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: NodeJS.ProcessEnv, stop: AbortSignal, options: MainOptions = {}): Promise<void> {
  const config = parseConfig(env);
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
  const isRestored = await trust.restore();
  const loaded = Promise.withResolvers<Rotation>();
  const onBus = async (bus: Bus, ended: AbortSignal): Promise<void> =>
    (await orAborted(loaded.promise, ended)).run(bus, ended);
  const follow = { trust, isRestored, health, log: log.child({ part: "bus" }), onBus };
  await using mesh = followMesh(config.busUrl, follow, stop);
  await mesh.known;
  const anchors = new Anchors({
    ...{ urls: config.bundleUrls, refreshMs: config.bundleRefreshMs, fetchText, log: log.child({ part: "trust" }) },
    onProblem: (reason) => health.setCondition("trust bundle", reason),
  });
  await using _anchors = { [Symbol.asyncDispose]: () => anchors.stop() };
  anchors.want(trust.anchors);
  trust.onChange(() => anchors.want(trust.anchors));
  const { source, active, rotation } = createRoots(config, { trust, anchors, health, log });
  if ((await firstMaterial(source, config.pollMs, stop)) === undefined) return;
  await rotation.restore();
  loaded.resolve(rotation);
  // Others may be in the middle of a rotation that this replica has not seen begin.
  if (config.busUrl !== undefined) await Promise.race([rotation.known, mesh.following, delay(patienceMs, stop)]);
  const material = active.current;
  if (material === undefined || stop.aborted) return;
  await writeRootFile(config.rootFile, material.rootsPem);

  const parts = createParts(config, {
    trust,
    anchors,
    active,
    rotation,
    metrics,
    health,
    log,
    clusters: options.clusters,
  });
  const own = { ...parts, trustDomain: () => trust.trustDomain, ttlMs: ownTtlMs };
  await using tls = await serveGrpcTls({
    server: createGrpcServer(parts),
    material: await ownCertificate(material, own),
    host: config.host,
    port: config.port,
    setting: "CA_PORT",
    log: log.child({ part: "tls" }),
  });
  const renew = async (): Promise<void> => tls.reload(await ownCertificate(active.current ?? material, own));
  const renewOrTell = (): void =>
    void renew().catch((error: unknown) => log.error("own certificate not renewed", { error }));
  trust.onChange(renewOrTell);
  active.onChange(({ rootsPem }) => {
    renewOrTell();
    writeRootFile(config.rootFile, rootsPem).catch((error: unknown) => log.error("roots not written", { error }));
  });
  health.markReady();
  log.info("certificates are issued", { host: config.host, port: tls.port, rootFile: config.rootFile });
  options.onReady?.({ grpc: tls.port, health: health.port });
  await Promise.all([mesh.following, source.follow(stop), renewByHalf(ownTtlMs, renew, stop)]);
}

interface Roots {
  readonly source: MaterialSource;
  readonly active: ActiveMaterial;
  readonly rotation: Rotation;
}

interface Stages {
  readonly trust: MeshTrust;
  readonly anchors: Anchors;
  readonly active: ActiveMaterial;
  readonly rotation: Rotation;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly log: Logger;
  readonly clusters: AuthenticatorParts["clusters"];
}

function createParts(
  config: Config,
  { trust, anchors, active, rotation, metrics, health, log, clusters }: Stages,
): IssuerParts {
  const nowMs = Date.now;
  const trustDomains = (): readonly string[] => trust.all;
  const queue = new FairQueue(config);
  // A gateway or a node may speak for many identities: its line may be as long as all of them together.
  const intake = new FairQueue({ maxPending: config.maxPending, maxPendingPerIdentity: config.maxPending });
  const waiting = (): number => intake.pending + queue.pending;
  const material = (): SigningMaterial | undefined => active.current;
  health.route("GET", "/debug/caz", () =>
    statusPage({ material: material(), trustDomains: trust.all, waiting: waiting(), nowMs: nowMs() }),
  );
  health.route("GET", "/debug/rotation", () => rotationPage(rotation));
  health.route("POST", "/debug/rotation", (request) => changeRotation(rotation, request));
  const proof = { trustDomain: () => trust.trustDomain, trustDomains, nowMs, clusters };
  const part = { ...proof, log: log.child({ part: "authenticate" }) };
  return {
    authenticator: createAuthenticator(config, part),
    material,
    ttl: config,
    serving: servingRules(config, trustDomains),
    node: { clusterId: "Kubernetes", trustedAccounts: config.trustedNodeAccounts, trustDomains, pods: new PodTable() },
    trustDomains,
    intake,
    queue,
    // differs: istiod hands over its own roots and leaves the others to PCDS, which not every agent asks for.
    moreRootsPem: () => (config.multiRoot ? anchors.pem : ""),
    record: (holding) => rotation.ledger.record(holding),
    metrics: declareMetrics(metrics, { material, waiting, nowMs }),
    log: log.child({ part: "issue" }),
    nowMs,
    randomSerial: serialSource(),
  };
}

/** The material in use, the one to come, and the rotation that leads from one to the other. */
function createRoots(
  config: Config,
  { trust, anchors, health, log }: Pick<Stages, "trust" | "anchors" | "health" | "log">,
): Roots {
  const { rootCaDir, multiRoot, pollMs, rootCheckMs, rootGracePercent, namespace } = config;
  const selfSigned = { keyType: config.selfSignedKey, ttlMs: config.selfSignedTtlMs };
  const store = diskStore(config.selfSignedDir);
  const [trustDomains, nowMs] = [() => trust.all, Date.now];
  const source: MaterialSource = new MaterialSource({
    ...{ rootCaDir, multiRoot, pollMs, rootCheckMs, rootGracePercent, selfSigned, store, trustDomains, nowMs },
    mayRenew: () => rotation.leads,
    isExpected: (next) => active.isExpected(next),
    trustDomain: () => trust.trustDomain,
    random: Math.random,
    log: log.child({ part: "roots" }),
    onProblem: (reason) => health.setCondition("signing material", reason),
  });
  const active: ActiveMaterial = new ActiveMaterial({
    ...{ source, store, trustDomains, nowMs },
    nextDir: config.rootCaNextDir,
    rootOptions: () => ({ ...selfSigned, trustDomain: trust.trustDomain }),
    log: log.child({ part: "roots" }),
  });
  const rotation: Rotation = new Rotation({
    ...{ source, store, active, namespace, nowMs },
    name: `${hostname()}:${config.port}`,
    stateFile: join(config.selfSignedDir, "rotation.json"),
    checkMs: config.rotationCheckMs,
    settleMs: config.rotationSettleMs,
    maxTtlMs: config.maxTtlMs,
    bundleOf: (rootsPem) => rootsPem + anchors.pem,
    log: log.child({ part: "rotation" }),
    onProblem: (reason) => health.setCondition("rotation", reason),
  });
  return { source, active, rotation };
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

function servingRules(config: Config, trustDomains: () => readonly string[]): ServingRules {
  const { namespace, domain, revision, customHost: customHosts, servingAccounts: accounts } = config;
  return { namespace, domain, revision, customHosts, accounts, trustDomains };
}
