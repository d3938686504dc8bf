/** Metrics of arriving changes: names that other tools rely on are istiod's. */
import { type Counter, type Histogram, latencyBuckets, type Metrics } from "@flotilla/runtime";

export interface IngestMetrics {
  readonly inbound: Counter<"type">;
  readonly refused: Counter;
  readonly resyncs: Counter;
  /** Deliveries were missing, or the bus was away: read again from where it was. */
  readonly resumed: Counter;
  /** Objects repaired after a digest mismatch. */
  readonly repaired: Counter;
  /** From the source's event to its application here. */
  readonly lag: Histogram;
}

export function createIngestMetrics(metrics: Metrics): IngestMetrics {
  return {
    inbound: metrics.counter({ name: "pilot_inbound_updates", help: "Changes received", labels: ["type"] }),
    refused: metrics.counter({ name: "flotilla_changes_refused_total", help: "Changes that could not be applied" }),
    resyncs: metrics.counter({ name: "flotilla_resyncs_total", help: "Times the stream began anew" }),
    resumed: metrics.counter({
      name: "flotilla_stream_resumed_total",
      help: "Times the stream was read again from where it was: deliveries were missing or the bus was unreachable",
    }),
    repaired: metrics.counter({
      name: "flotilla_repairs_total",
      help: "Objects repaired after a digest mismatch",
    }),
    lag: metrics.histogram({
      name: "flotilla_change_lag_seconds",
      help: "Time from a source's event to its application, in seconds",
      buckets: latencyBuckets,
    }),
  };
}
