/** The metrics of service-controller. */
import type { Counter, Gauge, Histogram, Metrics } from "@flotilla/runtime";
import { type ClusterCounters, declareClusterCounters } from "./watch/cluster-status.ts";

export interface RegistryMetrics {
  readonly refused: Gauge;
  /** Changes that the stream did not hold yet. */
  readonly publishedAgain: Counter;
  readonly published: Counter<"type" | "op">;
  readonly urgent: Counter;
  readonly repaired: Counter<"registry">;
  readonly publishSeconds: Histogram;
  readonly clusters: ClusterCounters;
  readonly machines: MachineCounters;
}

/** Registrations of machines that this replica saw, by istiod's names. */
export interface MachineCounters {
  readonly registered: Counter;
  readonly updated: Counter;
  readonly disconnected: Counter;
  readonly removed: Counter;
  readonly failed: Counter;
}

export function declareMetrics(metrics: Metrics): RegistryMetrics {
  return {
    refused: metrics.gauge({
      name: "flotilla_registry_refused",
      help: "Objects and files that are refused or wrong in part now.",
    }),
    publishedAgain: metrics.counter({
      name: "flotilla_stream_repairs_total",
      help: "Changes that the stream did not hold as they were published, and that were published again.",
    }),
    published: metrics.counter({
      name: "flotilla_registry_published_total",
      help: "Changes published, by type (service, endpoints) and operation.",
      labels: ["type", "op"],
    }),
    urgent: metrics.counter({
      name: "flotilla_registry_urgent_total",
      help: "Groups of changes that remove usable endpoints.",
    }),
    repaired: metrics.counter({
      name: "flotilla_registry_repaired_total",
      help: "Objects that differed from a fresh list of their source and were repaired, by registry.",
      labels: ["registry"],
    }),
    publishSeconds: metrics.histogram({
      name: "flotilla_registry_publish_seconds",
      help: "From the write of the source to the acknowledged publication of the change.",
    }),
    clusters: declareClusterCounters(metrics),
    machines: declareMachineCounters(metrics),
  };
}

function declareMachineCounters(metrics: Metrics): MachineCounters {
  const counter = (what: string, help: string) => {
    const declared = metrics.counter({ name: `auto_registration_${what}_total`, help });
    declared.add(0);
    return declared;
  };
  return {
    registered: counter("success", "Machines that were registered."),
    updated: counter("updates", "Registered machines that connected again or state something else."),
    disconnected: counter("unregister", "Registered machines that are connected to no replica of xds-server any more."),
    removed: counter("deletes", "Registered machines that were removed since they did not come back in time."),
    failed: counter("errors", "Reports of machines that could not be read."),
  };
}

/** Looked up when it is read. */
export function declareDutyGauge(metrics: Metrics, isOurs: () => boolean): void {
  metrics.gauge({
    name: "flotilla_registry_publishes",
    help: "1 in the replica that publishes services and endpoints, 0 in those that wait for their turn.",
    collect: (gauge) => gauge.set(isOurs() ? 1 : 0),
  });
}

/** Counts what the stream took: neither what it held already nor what another replica publishes. */
export function publishedCounter({ published }: Pick<RegistryMetrics, "published">) {
  return (changes: readonly { readonly type: string; readonly op: string }[]): void => {
    const sums = new Map<string, { readonly type: string; readonly op: string; value: number }>();
    for (const { type, op } of changes) {
      const sum = sums.get(`${type} ${op}`) ?? { type, op, value: 0 };
      sum.value += 1;
      sums.set(`${type} ${op}`, sum);
    }
    for (const { type, op, value } of sums.values()) published.add(value, { type, op });
  };
}
