/** The metrics of the console. */
import type { Counter, Histogram, Metrics } from "@flotilla/runtime";

export interface ConsoleMetrics {
  readonly refused: Counter<"code">;
  readonly seconds: Histogram<"endpoint">;
  readonly events: Counter<"type">;
}

export function declareMetrics(
  metrics: Metrics,
  { sessions, streams }: { readonly sessions: () => number; readonly streams: () => number },
): ConsoleMetrics {
  metrics.gauge({
    name: "flotilla_console_sessions",
    help: "Signed-in callers",
    collect: (gauge) => gauge.set(sessions()),
  });
  metrics.gauge({
    name: "flotilla_console_streams",
    help: "Open streams of events",
    collect: (gauge) => gauge.set(streams()),
  });
  return {
    refused: metrics.counter({
      name: "flotilla_console_refused_total",
      help: "Requests that were refused, by reason",
      labels: ["code"],
    }),
    seconds: metrics.histogram({
      name: "flotilla_console_request_seconds",
      help: "Time to answer a request, in seconds, by endpoint",
      labels: ["endpoint"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
    events: metrics.counter({
      name: "flotilla_console_events_total",
      help: "Events sent to all streams, by type",
      labels: ["type"],
    }),
  };
}
