/**
 * ca: proves who calls and signs what they may have.
 *
 * The composition root: resources are acquired from top to bottom and released from bottom to top. `app/` has the wiring of each area.
 */
import { join } from "node:path";
import { delay, type Logger, orAborted, startService } from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { BusLink, followFleet } from "./app/fleet.ts";
import { loadMaterial, openAnchors, patienceMs } from "./app/material.ts";
import { openPort } from "./app/port.ts";
import { createSecrets, selfSignedStore } from "./app/secrets.ts";
import { delegateOf, followClusters, openCluster } from "./kubernetes/cluster.ts";
import { distributeRoots, distributeRootsElsewhere } from "./kubernetes/distribute-roots.ts";
import { MeshTrust } from "./mesh/mesh-trust.ts";
import { createRoots } from "./rotation/create-roots.ts";
import { writeFirstClientCertificate } from "./serve/client-certificate.ts";
import { createIssuer } from "./serve/create-issuer.ts";
import { type CaService, readSettings, settings as table } from "./settings.ts";

export interface MainOptions {
  readonly log?: Logger;
  /** Called once certificates are issued, with the ports in use. */
  readonly onReady?: (ports: { readonly grpc: number; readonly health: number }) => void;
}

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(
  env: Readonly<Record<string, string | undefined>>,
  stop: AbortSignal,
  { log, onReady }: MainOptions = {},
): Promise<void> {
  const { version } = manifest;
  const options = { name: "ca", version, settings: readSettings(env), table, log, processMetrics: true };
  await startService(options, (service) => run(service, onReady), stop);
}

async function run(service: CaService, onReady: MainOptions["onReady"]): Promise<void> {
  const { version, settings, health, metrics, log, pages, stop } = service;
  const part = (name: string) => log.child({ part: name });
  const { trustDomain, trustDomainAliases: aliases, selfSignedDir, rootFile } = settings;
  const trust = new MeshTrust({ trustDomain, aliases, file: join(selfSignedDir, "mesh.json"), log: part("mesh") });
  const isRestored = await trust.restore();
  using cluster = await openCluster(settings, part("kubernetes"));
  const sealing = createSecrets(service, cluster);
  // Awaited with all that runs; failing before that is no unhandled rejection.
  sealing.catch(() => undefined);

  const link = new BusLink();
  const store = cluster?.store ?? (await selfSignedStore(service, () => orAborted(link.bus, stop)));
  await writeFirstClientCertificate(settings, { trust, store, log: part("bus") });
  await using mesh = followFleet(service, { trust, isRestored, sealing, link });
  await mesh.known;
  await using anchors = openAnchors(service, trust);
  const roots = createRoots(settings, { trust, anchors, store, cluster, health, log });
  const { source, active, rotation } = roots;
  const material = await loadMaterial(service, { roots, mesh, link, isInCluster: cluster !== undefined });
  if (material === undefined) return;

  await using clusters = followClusters(cluster, { settings, health, log: part("kubernetes") }, stop);
  await Promise.race([clusters.known, delay(patienceMs, stop)]);
  const { pods } = clusters;
  const delegate = await delegateOf(settings, cluster, trust, part("signer"));
  const stages = { trust, anchors, active, rotation, metrics, health, log, cluster, pods, delegate, pages };
  const issuer = createIssuer(settings, stages);
  const { intake, queue } = issuer;
  service.introspection?.page("/queues", () => ({ toAuthenticate: intake.pending, toSign: queue.pending }));
  await using port = await openPort(service, { issuer, trust, active, material });
  health.markReady();
  log.info("certificates issued", { host: settings.host, port: port.port, rootFile });
  onReady?.({ grpc: port.port, health: health.port });
  const distribution = cluster && { settings, api: cluster.api, active, version, log: part("kubernetes") };
  await service.runParts([
    sealing,
    mesh.following,
    source.follow(stop),
    port.certificate.follow(stop),
    distribution && distributeRoots(distribution, stop),
    distribution && distributeRootsElsewhere(distribution, stop),
  ]);
}
