/** Between ingest and the core: changes gather, are applied in batches, and each batch is followed to the last acknowledgement. */
import { keyText } from "@flotilla/bus";
import { type AppliedSet, type Change, causeText } from "@flotilla/model";
import type { Counter, Logger, Tracer } from "@flotilla/runtime";
import { type ChangeSink, Ingest } from "../ingest/ingest.ts";
import type { IngestMetrics } from "../ingest/ingest-metrics.ts";
import { type Batch, ChangePipeline, type Dependence, defaultDebounce } from "../push/change-pipeline.ts";
import { createPushMetrics, type PushMetrics } from "../push/push-metrics.ts";
import { defaultPushLimits, PushQueue, systemClock } from "../push/push-queue.ts";
import { Arrivals } from "../serve/arrivals.ts";
import { Deliveries, type DeliveryMetrics } from "../serve/deliveries.ts";
import type { XdsService } from "../settings.ts";
import { traceBatch } from "./change-traces.ts";
import type { Refusal } from "./core.ts";
import type { CoreSource } from "./core-source.ts";
import type { ServedMesh } from "./mesh.ts";
import type { Snapshot } from "./snapshot.ts";

export interface ChangeFlowOptions {
  readonly source: Pick<CoreSource, "apply">;
  readonly deliveryMetrics: DeliveryMetrics;
  /** Of changes that cannot be applied. */
  readonly refused: Counter;
}

export interface ChangeFlow extends ChangeSink, Disposable {
  readonly queue: PushQueue;
  readonly deliveries: Deliveries;
  readonly arrivals: Arrivals;
  /** Applies what waits now. */
  flush(): void;
}

export function createChangeFlow(
  { settings, metrics, log, tracer }: XdsService,
  { source, deliveryMetrics, refused }: ChangeFlowOptions,
): ChangeFlow {
  const pushMetrics = createPushMetrics(metrics);
  const deliveries = new Deliveries({ metrics: deliveryMetrics, nowMs: Date.now });
  const arrivals = new Arrivals();
  const queue = new PushQueue({
    clock: systemClock,
    ...defaultPushLimits,
    maxConcurrent: settings.concurrentPushes,
    onTurn: (waitedMs) => pushMetrics.queued(waitedMs / 1000),
  });
  const pipeline = new ChangePipeline<Change>({
    clock: systemClock,
    minGapMs: settings.debounceAfterMs,
    maxGapMs: settings.debounceMaxMs,
    urgentGapMs: Math.min(defaultDebounce.urgentGapMs, settings.debounceAfterMs),
    isBusy: () => queue.depth.waiting > 0 || queue.depth.inFlight > 0,
    isQueued: () => queue.depth.waiting > 0,
    keyOf: keyText,
    kindOf: (change) => (change.type === "config" ? change.key.kind : change.type),
    dependsOn,
    isDeciding: (change) =>
      change.type === "service" || (change.type === "config" && decidingKinds.has(change.key.kind)),
    apply: (batch) => {
      applyBatch(batch, { source, deliveries, arrivals, pushMetrics, refused, log, tracer });
      return queue.depth.waiting > 0;
    },
  });
  return {
    ...{ queue, deliveries, arrivals },
    apply: (changes, position, cause) => pipeline.offer({ changes, position, cause }),
    flush: () => pipeline.flush(),
    [Symbol.dispose]: () => pipeline[Symbol.dispose](),
  };
}

/** Endpoints are kept apart from everything else: no other change decides what they mean. */
function dependsOn({ type }: Change): Dependence {
  if (type === "endpoints") return "nothing";
  return type === "workload" ? "deciding" : "everything";
}

/** Kinds that decide a workload's name, its owner, its permitted callers and its waypoint. */
const decidingKinds: ReadonlySet<string> = new Set([
  ...["MeshConfig", "MeshNetworks", "Namespace", "KubernetesGateway", "GatewayClass"],
  ...["AuthorizationPolicy", "PeerAuthentication", "ServiceEntry"],
]);

export interface IngestParts {
  readonly mesh: ServedMesh;
  readonly snapshot: Snapshot;
  readonly flow: ChangeFlow;
  readonly metrics: IngestMetrics;
}

/** The source of the flow. The mesh is complete once what came with its first whole state is applied. */
export function createIngest({ settings, log }: XdsService, { mesh, snapshot, flow, metrics }: IngestParts): Ingest {
  const { store, seal, setAside } = snapshot;
  return new Ingest({
    ...{ source: flow, store, seal, setAside, log, metrics, nowMs: Date.now },
    publishers: settings.publishers,
    onComplete: (from, position) => {
      flow.flush();
      log.info("the mesh is synced", { from, position });
      mesh.complete();
    },
  });
}

interface Applying extends Pick<ChangeFlowOptions, "source" | "refused"> {
  readonly log: Logger;
  readonly deliveries: Deliveries;
  readonly arrivals: Arrivals;
  readonly pushMetrics: PushMetrics;
  readonly tracer: Tracer | undefined;
}

function applyBatch(batch: Batch<Change>, parts: Applying): void {
  const { source, deliveries, arrivals, pushMetrics, refused, log, tracer } = parts;
  const { changes, groups, position, urgency, eventTimesMs, waitedMs } = batch;
  const started = performance.now();
  const applied = appliedSet(batch);
  const trace = tracer === undefined ? undefined : traceBatch(tracer, batch, applied);
  arrivals.note(groups, deliveries.begin(eventTimesMs, trace?.delivered));
  let refusals: readonly Refusal[];
  try {
    refusals = source.apply(changes, { applied, groups, urgency });
  } finally {
    deliveries.end();
  }
  for (const { change, error } of refusals) {
    refused.add(1);
    log.error("change not applied, its object stays unchanged", { key: keyText(change), error });
  }
  const ms = performance.now() - started;
  const endMs = Date.now();
  trace?.applied(endMs - ms, endMs);
  pushMetrics.applied(ms / 1000);
  pushMetrics.debounced(waitedMs / 1000);
  for (const type of new Set(changes.map(triggerOf))) pushMetrics.triggered(type);
  if (changes.length === 0) return;
  const by = applied.causes.map(causeText);
  log.debug("applied", {
    ...{ changes: changes.length, position, urgency, ms: Math.round(ms), objects: applied.objects, by },
  });
}

/** Enough to recognize the change; a first snapshot has thousands of objects. */
const namedObjects = 3;
/** A storm may join thousands of groups. */
const namedCauses = 10;

function appliedSet({ changes, groups, position }: Batch<Change>): AppliedSet {
  return {
    ...{ position, changes: changes.length },
    objects: changes.slice(0, namedObjects).map((change) => keyText(change).replace(/^config /, "")),
    causes: groups.slice(-namedCauses).map(({ cause }) => cause),
  };
}

/** As istiod groups the reasons of its pushes. */
function triggerOf(change: Change): string {
  if (change.type === "endpoints") return "endpoint";
  if (change.type === "service") return "service";
  if (change.type === "workload") return "workload";
  if (change.key.kind === "MeshNetworks") return "networks";
  return change.key.kind === "MeshConfig" ? "global" : "config";
}
