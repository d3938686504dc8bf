/** The input that this replica takes from the bus, its reports over it, and its part among the other replicas. */
import { connectWithHealth } from "@flotilla/bus";
import { publishReplica } from "../debug/replica-record.ts";
import { trustReports } from "../debug/trust-report.ts";
import { balanceStreams } from "../fleet/balance.ts";
import { distributionReports } from "../fleet/distribution.ts";
import { registrationReports } from "../fleet/registered-workloads.ts";
import type { Ingest } from "../ingest/ingest.ts";
import type { IngestMetrics } from "../ingest/ingest-metrics.ts";
import type { ConnectedStreams } from "../serve/connected-streams.ts";
import type { XdsService } from "../settings.ts";
import type { ServedMesh } from "./mesh.ts";
import type { Observers } from "./observers.ts";
import type { Snapshot } from "./snapshot.ts";

export interface BusParts {
  readonly mesh: ServedMesh;
  readonly snapshot: Snapshot;
  readonly ingest: Ingest;
  readonly observers: Observers;
  readonly connected: ConnectedStreams;
  readonly metrics: IngestMetrics;
}

/** Runs until the service stops; waits for a bus that is away. */
export async function followBus(service: XdsService, parts: BusParts): Promise<void> {
  const { name, settings, health, metrics, log, stop } = service;
  const { mesh, snapshot, ingest, observers, connected } = parts;
  const { busUrl: url, busReplicas: replicas } = settings;
  const { seal, setAside } = snapshot;
  const onResumed = () => parts.metrics.resumed.add(1);
  await using bus = await connectWithHealth(
    { url, replicas, clientName: name, seal, onResumed, log, health, metrics, setAside },
    stop,
  );
  const trust = trustReports({ core: mesh.core, streams: () => connected.list() });
  const distribution = distributionReports(observers.distribution);
  const machines = registrationReports(observers.machines);
  // Failures of the bus on a report are no reason to end streams.
  await Promise.all([
    service.keepRunning("following the bus", () => ingest.follow(bus, stop)),
    service.keepRunning("trust reports", () => trust(bus, stop)),
    service.keepRunning("distribution reports", () => distribution(bus, stop)),
    service.keepRunning("reports of machines", () => machines(bus, stop)),
  ]);
}

export interface ReplicaParts {
  /** Pod or host name of this replica. */
  readonly replica: string;
  readonly snapshot: Snapshot;
  readonly connected: ConnectedStreams;
  readonly onHandedOff: () => void;
  /** Between two looks at the streams of all replicas. */
  readonly balanceEveryMs?: number;
}

/**
 * Shares the streams with the other replicas until the service stops. Resolves when the other replicas are not to hand their
 * streams off to this one any more.
 */
export function joinReplicas(
  { settings, log, stop, inBackground }: XdsService,
  { replica, snapshot, connected, onHandedOff, balanceEveryMs: everyMs }: ReplicaParts,
): Promise<void> {
  const { debugUrl: pages, handOffPerSecond: perSecond } = settings;
  const { store, reportId: id } = snapshot;
  const streams = () => connected.list();
  const disconnect = (stream: string) => void connected.disconnect(stream);
  const recorded = publishReplica({ id, replica, pages, streams, store, log }, stop);
  inBackground(recorded);
  const balance = { id, streams, disconnect, store, perSecond, random: Math.random, onHandedOff, everyMs, log };
  inBackground(balanceStreams(balance, stop));
  return recorded;
}
