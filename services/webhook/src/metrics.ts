/** The metrics of webhook. The names are those that dashboards for Istio look for. */
import type { Counter, Gauge, Histogram, Metrics } from "@flotilla/runtime";
import type { WriteAttempt } from "./watch/ca-bundles.ts";

export interface WebhookMetrics {
  readonly injection: {
    readonly requests: Counter;
    readonly successes: Counter;
    readonly failures: Counter;
    readonly skips: Counter;
    readonly seconds: Histogram;
  };
  readonly validation: {
    readonly passed: Counter<"group" | "version" | "resource">;
    readonly failed: Counter<"group" | "version" | "resource" | "reason">;
  };
  readonly httpErrors: Counter<"status">;
  /** Counts an attempt to write a webhook configuration. */
  readonly configurationWritten: (attempt: WriteAttempt) => void;
  /** 1 while a file of configuration or certificates cannot be used and the version before is in force. */
  readonly staleFiles: Gauge<"part">;
}

export function declareMetrics(metrics: Metrics): WebhookMetrics {
  return {
    injection: {
      requests: metrics.counter({ name: "sidecar_injection_requests_total", help: "Requests to inject a pod." }),
      successes: metrics.counter({ name: "sidecar_injection_success_total", help: "Pods injected." }),
      failures: metrics.counter({ name: "sidecar_injection_failure_total", help: "Pods that could not be injected." }),
      skips: metrics.counter({
        name: "sidecar_injection_skip_total",
        help: "Pods skipped by policy, label or namespace.",
      }),
      seconds: metrics.histogram({
        name: "sidecar_injection_time_seconds",
        help: "Time to answer a request to inject a pod.",
        buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      }),
    },
    validation: {
      passed: metrics.counter({
        name: "galley_validation_passed",
        help: "Objects found valid.",
        labels: ["group", "version", "resource"],
      }),
      failed: metrics.counter({
        name: "galley_validation_failed",
        help: "Objects refused.",
        labels: ["group", "version", "resource", "reason"],
      }),
    },
    httpErrors: metrics.counter({
      name: "galley_validation_http_error",
      help: "Requests answered with an HTTP error.",
      labels: ["status"],
    }),
    configurationWritten: configurationCounters(metrics),
    staleFiles: metrics.gauge({
      name: "webhook_stale_files",
      help: "1 while a file cannot be used and its last valid content is in force.",
      labels: ["part"],
    }),
  };
}

function configurationCounters(metrics: Metrics): (attempt: WriteAttempt) => void {
  const attempts = metrics.counter({
    name: "webhook_patch_attempts_total",
    help: "Attempts to write caBundle or failurePolicy of a webhook configuration.",
    labels: ["name"],
  });
  const failures = metrics.counter({
    name: "webhook_patch_failures_total",
    help: "Attempts that the API server refused, by the code of the error.",
    labels: ["name", "reason"],
  });
  const retries = metrics.counter({
    name: "webhook_patch_retries_total",
    help: "Attempts that met a newer version of the configuration and are made again.",
    labels: ["name"],
  });
  const updates = metrics.counter({
    name: "galley_validation_config_updates",
    help: "Times a configuration of validating webhooks was written.",
  });
  const updateErrors = metrics.counter({
    name: "galley_validation_config_update_error",
    help: "Times a configuration of validating webhooks could not be written, by the code of the error.",
    labels: ["reason"],
  });
  return ({ collection, name, refusal }) => {
    const isValidating = collection === "validatingwebhookconfigurations";
    attempts.add(1, { name });
    if (refusal === undefined) {
      if (isValidating) updates.add(1);
    } else if (refusal === "KUBE_CONFLICT") retries.add(1, { name });
    else {
      failures.add(1, { name, reason: refusal });
      if (isValidating) updateErrors.add(1, { reason: refusal });
    }
  };
}
