/**
 * ca: proves who calls and signs what they may have.
 *
 * The composition root. Resources are acquired top to bottom and released bottom to top.
 */
import { join } from "node:path";
import { type GrpcTls, serveGrpcTls } from "@flotilla/auth/serving";
import {
  createLogger,
  createMetrics,
  delay,
  type Health,
  type Logger,
  type LogLevel,
  serveHealth,
} from "@flotilla/runtime";
import { type AuthenticatorParts, createAuthenticator } from "./authenticate/authenticators.ts";
import { PodTable } from "./authorize/pod-table.ts";
import type { ServingRules } from "./authorize/serving-names.ts";
import { type Config, parseConfig } from "./config.ts";
import { followMesh } from "./mesh/follow-mesh.ts";
import { MeshTrust } from "./mesh/mesh-trust.ts";
import { declareMetrics } from "./metrics.ts";
import type { SigningMaterial } from "./roots/material.ts";
import { MaterialSource } from "./roots/material-source.ts";
import { writeRootFile } from "./roots/root-file.ts";
import { createGrpcServer } from "./serve/grpc-service.ts";
import { ownCertificate, renewByHalf } from "./serve/own-certificate.ts";
import { FairQueue } from "./sign/fair-queue.ts";
import { serialSource } from "./sign/serials.ts";

const version = "0.1.0";
/** Of our own serving certificate. */
const ownTtlMs = 86_400_000;

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
  const nowMs = Date.now;
  const randomSerial = serialSource();
  const metrics = createMetrics({ process: true });
  await using health = await serveHealth({
    service: "ca",
    version,
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
  await using mesh = followMesh(config.busUrl, { trust, isRestored, health, log: log.child({ part: "bus" }) }, stop);
  await mesh.known;
  const source = createSource(config, trust, health, log);
  const material = await firstMaterial(source, config.pollMs, stop);
  if (material === undefined) return;
  await writeRootFile(config.rootFile, material.rootsPem);

  const trustDomains = (): readonly string[] => trust.all;
  const trustDomain = (): string => trust.trustDomain;
  const serving = servingRules(config, trustDomains);
  const queue = new FairQueue(config);
  // A gateway or a node may speak for many identities: its line may be as long as all of them together.
  const intake = new FairQueue({ maxPending: config.maxPending, maxPendingPerIdentity: config.maxPending });
  const server = createGrpcServer({
    authenticator: createAuthenticator(config, {
      trustDomain,
      nowMs,
      log: log.child({ part: "authenticate" }),
      ...(options.clusters && { clusters: options.clusters }),
    }),
    material: () => source.current,
    ttl: config,
    serving,
    node: { clusterId: "Kubernetes", trustedAccounts: config.trustedNodeAccounts, trustDomains, pods: new PodTable() },
    trustDomains,
    intake,
    queue,
    metrics: declareMetrics(metrics, {
      material: () => source.current,
      waiting: () => intake.pending + queue.pending,
      nowMs,
    }),
    log: log.child({ part: "issue" }),
    nowMs,
    randomSerial,
  });
  const own = { serving, trustDomain, ttlMs: ownTtlMs, nowMs, randomSerial };
  await using tls = await serveGrpcTls({
    server,
    material: await ownCertificate(material, own),
    host: config.host,
    port: config.port,
    setting: "CA_PORT",
    log: log.child({ part: "tls" }),
  });
  const renew = async (now: SigningMaterial): Promise<void> => tls.reload(await ownCertificate(now, own));
  source.onChange((now) => {
    Promise.all([renew(now), writeRootFile(config.rootFile, now.rootsPem)]).catch((error: unknown) =>
      log.error("new signing material not published", { error }),
    );
  });
  announce(health, tls, config, options, log);
  await Promise.all([source.follow(stop), renewByHalf(ownTtlMs, () => renew(source.current ?? material), stop)]);
}

function createSource(config: Config, trust: MeshTrust, health: Health, log: Logger): MaterialSource {
  const { rootCaDir, multiRoot, pollMs, rootCheckMs, rootGracePercent } = config;
  return new MaterialSource({
    rootCaDir,
    multiRoot,
    pollMs,
    rootCheckMs,
    rootGracePercent,
    selfSigned: {
      directory: config.selfSignedDir,
      keyType: config.selfSignedKey,
      ttlMs: config.selfSignedTtlMs,
    },
    trustDomains: () => trust.all,
    trustDomain: () => trust.trustDomain,
    nowMs: Date.now,
    random: Math.random,
    log: log.child({ part: "roots" }),
    onProblem: (reason) => health.setCondition("signing material", reason),
  });
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

function announce(health: Health, tls: GrpcTls, config: Config, { onReady }: MainOptions, log: Logger): void {
  health.markReady();
  log.info("certificates are issued", {
    host: config.host,
    port: tls.port,
    rootFile: config.rootFile,
  });
  onReady?.({ grpc: tls.port, health: health.port });
}
