/** What arrives: names that other tools rely on are istiod's. */
import { type Counter, type Histogram, latencyBuckets, type Metrics } from "@flotilla/runtime";

export interface IngestMetrics {
  readonly inbound: Counter<"type">;
  readonly refused: Counter;
  readonly resyncs: Counter;
  /** From the source's event to its application here. */
  readonly lag: Histogram;
}

export function createIngestMetrics(metrics: Metrics): IngestMetrics {
  return {
    inbound: metrics.counter({ name: "pilot_inbound_updates", help: "Changes received", labels: ["type"] }),
    refused: metrics.counter({ name: "flotilla_changes_refused_total", help: "Changes that could not be applied" }),
    resyncs: metrics.counter({ name: "flotilla_resyncs_total", help: "Times the stream began anew" }),
    lag: metrics.histogram({
      name: "flotilla_change_lag_seconds",
      help: "Time from a source's event to its application, in seconds",
      buckets: latencyBuckets,
    }),
  };
}
