/** The metrics of every service, as its code declares them. */

import { createMetrics, type Metrics, noopLogger } from "@flotilla/runtime";
import { droppedConnections } from "../packages/auth/src/serving/grpc-tls.ts";
import { declareSetAsideMetrics } from "../packages/bus/src/connect-with-health.ts";
import { SetAside } from "../packages/bus/src/set-aside.ts";
import { FailingWork } from "../packages/runtime/src/keep-running.ts";
import { Readiness } from "../packages/runtime/src/readiness.ts";
import { declareConditions, declareStartupDuration } from "../packages/runtime/src/start-service.ts";
import { declareMetrics as declareCa } from "../services/ca/src/metrics.ts";
import * as configController from "../services/config-controller/src/metrics.ts";
import { declareMetrics as declareConsole } from "../services/console/src/metrics.ts";
import * as serviceController from "../services/service-controller/src/metrics.ts";
import { declareClusterGauges } from "../services/service-controller/src/watch/cluster-status.ts";
import { declareMetrics as declareWebhook } from "../services/webhook/src/metrics.ts";
import { declareForwarded } from "../services/xds-server/src/app/ca-passthrough.ts";
import { declareEnvoyFilterMetric } from "../services/xds-server/src/debug/envoy-filter-metric.ts";
import { declareMeshMetrics } from "../services/xds-server/src/debug/mesh-metrics.ts";
import { createIngestMetrics } from "../services/xds-server/src/ingest/ingest-metrics.ts";
import { createPushMetrics } from "../services/xds-server/src/push/push-metrics.ts";
import { createStreamMetrics } from "../services/xds-server/src/serve/stream-metrics.ts";

export interface DeclaredMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

type Declare = (metrics: Metrics) => unknown;

const none = () => [];
const ofService: Readonly<Record<string, readonly Declare[]>> = {
  "xds-server": [
    createStreamMetrics,
    createIngestMetrics,
    createPushMetrics,
    (metrics) =>
      declareMeshMetrics(metrics, {
        ...{ inputs: none, findings: none, unselected: none, withoutServices: () => 0 },
        ...{ version: "", nowMs: Date.now },
      }),
    (metrics) => declareEnvoyFilterMetric(metrics, { inputs: none, outcomes: () => undefined }),
    declareForwarded,
    droppedConnections,
  ],
  "config-controller": [
    configController.declareMetrics,
    (metrics) => configController.declareObjectsGauge(metrics, () => new Map()),
    (metrics) => configController.declareDutyGauge(metrics, () => false),
    (metrics) => configController.declareAwayGauge(metrics, () => new Map(), Date.now),
  ],
  "service-controller": [
    serviceController.declareMetrics,
    (metrics) => serviceController.declareDutyGauge(metrics, () => false),
    (metrics) => declareClusterGauges(metrics, none, Date.now),
  ],
  ca: [
    (metrics) => declareCa(metrics, { material: () => undefined, waiting: () => 0, nowMs: Date.now }),
    droppedConnections,
  ],
  webhook: [declareWebhook],
  console: [(metrics) => declareConsole(metrics, { sessions: () => 0, streams: () => 0 })],
};

const ofEach: readonly Declare[] = [
  (metrics) => declareStartupDuration(metrics, { readiness: { readySinceMs: undefined } }),
  (metrics) => declareConditions(metrics, { readiness: new Readiness() }),
  (metrics) => new FailingWork(metrics, { setCondition: () => undefined }),
  (metrics) => declareSetAsideMetrics(metrics, new SetAside({ log: noopLogger, nowMs: Date.now })),
];

/** Those of one service, and under `every service` those that all have, the process's figures included. */
export async function metricsTables(): Promise<Readonly<Record<string, readonly DeclaredMetric[]>>> {
  const own = Object.entries(ofService).map(([service, declare]) => [service, declaredBy(declare)] as const);
  const shared = [...declaredBy(ofEach), ...declaredIn(await createMetrics({ process: true }).text())];
  return Object.fromEntries([["every service", shared], ...own]);
}

/** Names, types and labels that are declared; nothing is counted. */
function declaredBy(declare: readonly Declare[]): readonly DeclaredMetric[] {
  const declared: DeclaredMetric[] = [];
  const note =
    (type: DeclaredMetric["type"]) =>
    ({ name, help, labels = [] }: Pick<DeclaredMetric, "name" | "help"> & { readonly labels?: readonly string[] }) => {
      declared.push({ name, type, help, labels });
      return { add: () => undefined, set: () => undefined, remove: () => undefined, observe: () => undefined };
    };
  const metrics = { contentType: "", text: async () => "" };
  for (const one of declare)
    one({ ...metrics, counter: note("counter"), gauge: note("gauge"), histogram: note("histogram") });
  return declared;
}

/** From Prometheus' text form. */
function declaredIn(text: string): readonly DeclaredMetric[] {
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (counter|gauge|histogram)$/gm)].map(
    ([, name = "", help = "", type]) => ({ name, help, type: type as DeclaredMetric["type"], labels: [] }),
  );
}
