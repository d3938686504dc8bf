/** The metrics of config-controller. */
import type { Counter, Gauge, Histogram, Metrics } from "@flotilla/runtime";

export interface ConfigMetrics {
  readonly objects: Gauge<"kind">;
  readonly refused: Gauge;
  readonly published: Counter<"op">;
  readonly publishSeconds: Histogram;
}

export function declareMetrics(metrics: Metrics): ConfigMetrics {
  return {
    objects: metrics.gauge({
      name: "flotilla_config_objects",
      help: "Objects in force, by kind.",
      labels: ["kind"],
    }),
    refused: metrics.gauge({ name: "flotilla_config_refused", help: "Objects and files that are refused now." }),
    published: metrics.counter({
      name: "flotilla_config_published_total",
      help: "Changes published, by operation.",
      labels: ["op"],
    }),
    publishSeconds: metrics.histogram({
      name: "flotilla_config_publish_seconds",
      help: "From the write of the source to the acknowledged publication of the change.",
    }),
  };
}
