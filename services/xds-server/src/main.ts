/**
 * xds-server: follows the changes of the fleet and streams to every proxy what it gets.
 *
 * The composition root: resources are acquired from top to bottom and released from bottom to top. `app/` has the wiring of each area.
 */
import { hostname } from "node:os";
import { aborted, type Health, orAborted, serveHealth, startService } from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { createAdsServer, giveMemoryBack } from "./app/ads.ts";
import { refusedCertificates } from "./app/ca-passthrough.ts";
import { createChangeFlow, createIngest } from "./app/change-flow.ts";
import { followBus, joinReplicas } from "./app/fleet.ts";
import { openIdentity, Revocations } from "./app/identity.ts";
import { ServedMesh } from "./app/mesh.ts";
import { createObservers } from "./app/observers.ts";
import { decideSecrets } from "./app/secret-access.ts";
import { serveSecure } from "./app/secure-port.ts";
import { loadSnapshot, openSnapshot } from "./app/snapshot.ts";
import { keepForZtunnels } from "./app/ztunnel-resources.ts";
import { serveOperatorPages } from "./debug/operator-pages.ts";
import { serveDebugPages } from "./debug/pages.ts";
import { createIngestMetrics } from "./ingest/ingest-metrics.ts";
import type { AdsPort, AdsServer } from "./serve/ads-server.ts";
import type { StreamAuthentication } from "./serve/authenticate.ts";
import { ConnectedStreams } from "./serve/connected-streams.ts";
import { createStreamMetrics } from "./serve/stream-metrics.ts";
import { readSettings, settings as table, type XdsService } from "./settings.ts";

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  const { version } = manifest;
  await startService(
    { name: "xds-server", version, settings: readSettings(env), table, processMetrics: true },
    run,
    stop,
  );
}

async function run(service: XdsService): Promise<void> {
  const { settings, health, metrics, log, stop, inBackground } = service;
  const replica = settings.podName ?? hostname();
  await using http = await serveHttp(service);

  const mesh = new ServedMesh(settings);
  const connected = new ConnectedStreams();
  const revocations = new Revocations(log);
  await using identity = await openIdentity(service, { mesh, revocations });
  using _secretReviews = decideSecrets(service, { mesh, identity });
  await using snapshot = await openSnapshot(service);

  const ingestMetrics = createIngestMetrics(metrics);
  const streamMetrics = createStreamMetrics(metrics);
  const { refused } = ingestMetrics;
  using flow = createChangeFlow(service, { source: mesh.source, deliveryMetrics: streamMetrics, refused });
  const ingest = createIngest(service, { mesh, snapshot, flow, metrics: ingestMetrics });
  const observers = createObservers(service, { replica, mesh, identity, snapshot, flow, ingest, connected });
  mesh.source.listen(revocations.follow(() => connected.endStreamsOf(identity.peers.isRevoked)));
  await using ads = createAdsServer(service, { replica, mesh, flow, observers, connected, metrics: streamMetrics });
  const { pages, rules } = observers.debug;
  for (const port of settings.debugOnHttp ? [health, http] : [health]) serveDebugPages(port, pages, rules);
  serveOperatorPages(health, { rules, pages: service.pages, writers: settings.pageWriters });

  service.introspection?.page("/peers", () => peersOf(connected));
  service.introspection?.page("/queues", () => ({ openDeliveries: flow.deliveries.open, position: ingest.position }));

  await loadSnapshot(service, snapshot, ingest);
  const onProblem = (reason: string | undefined) => health.setCondition("remote clusters", reason, { blocks: false });
  if (identity.cluster !== undefined) inBackground(identity.cluster.followRemotes({ log, onProblem }, stop));
  inBackground(followBus(service, { mesh, snapshot, ingest, observers, connected, metrics: ingestMetrics }));
  inBackground(ingest.persist(stop));
  await orAborted(mesh.completed, stop);
  using _forZtunnels = await keepForZtunnels(mesh.core, settings.ambient, stop);

  const { authenticator } = identity.peers;
  await using plain = await servePlain(service, ads, { authenticator, mode: "offered" });
  const secure = serveSecure(service, { ads, identity });
  inBackground(secure);
  const onHandedOff = () => streamMetrics.handedOff();
  const left = joinReplicas(service, { replica, snapshot, connected, onHandedOff });
  health.markReady();
  http.markReady();
  inBackground(giveMemoryBack(ads, stop));
  log.info("serving", { port: settings.port });
  await aborted(stop);
  http.readiness.markStopping();
  // Before the streams end: other replicas must not hand theirs off to this one.
  await left;
  // Before the server ends all that are left: the streams of both ports are handed off in the same time.
  await Promise.all([plain[Symbol.asyncDispose](), secure]);
}

/** Of the introspection pages: who is connected, from where and since when. */
function peersOf(connected: ConnectedStreams): readonly unknown[] {
  return connected.list().map(({ id, proxy, peer, connectedAtMs }) => ({
    ...{ stream: id, proxy: proxy.id, peer, connectedAt: new Date(connectedAtMs).toISOString() },
  }));
}

/** A second port of readiness, metrics and debug pages, as istiod has one. */
function serveHttp({ name, version, settings, log, metrics }: XdsService): Promise<Health> {
  const { healthHost: host, httpPort: port } = settings;
  return serveHealth({ service: name, version, host, port, setting: "HTTP_PORT", log, metrics });
}

/** xDS without TLS. A token is checked where the settings ask for it; certificates are refused there. */
function servePlain({ settings }: XdsService, ads: AdsServer, offered: StreamAuthentication): Promise<AdsPort> {
  const { host, port, authenticatePlaintext } = settings;
  const at = { host, port, setting: "XDS_PORT" };
  return ads.servePlaintext(at, authenticatePlaintext ? offered : undefined, refusedCertificates);
}
