/** Metrics of the push pipeline; the names are istiod's. */
import { latencyBuckets, type Metrics } from "@flotilla/runtime";

export interface PushMetrics {
  /** From a change's arrival to its application. */
  debounced(seconds: number): void;
  /** The application itself. */
  applied(seconds: number): void;
  triggered(type: string): void;
  /** A stream's wait for its turn. */
  queued(seconds: number): void;
}

export function createPushMetrics(metrics: Metrics): PushMetrics {
  const seconds = (name: string, help: string) => metrics.histogram({ name, help, buckets: latencyBuckets });
  const debounce = seconds("pilot_debounce_time", "Time from a change's arrival to its application, in seconds");
  const apply = seconds("pilot_pushcontext_init_seconds", "Time to apply a batch of changes, in seconds");
  const queue = seconds("pilot_proxy_queue_time", "Time that a stream waits for its turn, in seconds");
  const triggers = metrics.counter({
    name: "pilot_push_triggers",
    help: "Batches applied, by their kind of content",
    labels: ["type"],
  });
  return {
    debounced: (time) => debounce.observe(time),
    applied: (time) => apply.observe(time),
    triggered: (type) => triggers.add(1, { type }),
    queued: (time) => queue.observe(time),
  };
}
