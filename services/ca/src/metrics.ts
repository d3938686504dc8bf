/** The metrics of ca; names that start with citadel_server are known to dashboards. */
import type { Counter, Histogram, Metrics } from "@flotilla/runtime";
import { firstToExpire, type SigningMaterial } from "./roots/material.ts";

const refusalKinds = ["csr", "ttl", "signer", "name", "not_ready", "busy", "internal"] as const;
export type RefusalKind = (typeof refusalKinds)[number];

export interface CaMetrics {
  readonly requests: Counter;
  readonly issued: Counter;
  readonly authenticationFailures: Counter;
  readonly badRequests: Counter;
  readonly signFailures: Counter<"error">;
  readonly identityFailures: Counter;
  readonly seconds: Histogram;
  readonly idleConnectionsClosed: Counter;
  readonly refusalsUnlogged: Counter;
}

export interface MetricSources {
  readonly material: () => SigningMaterial | undefined;
  readonly waiting: () => number;
  readonly nowMs: () => number;
}

export function declareMetrics(metrics: Metrics, { material, waiting, nowMs }: MetricSources): CaMetrics {
  const expiry = (name: string, help: string, endMs: (material: SigningMaterial) => number): void => {
    const collect = (value: (end: number) => number) => (gauge: { set(value: number): void }) => {
      const now = material();
      if (now !== undefined) gauge.set(value(endMs(now)) / 1000);
    };
    metrics.gauge({
      name: `${name}_timestamp`,
      help: `${help}, in seconds since 1970`,
      collect: collect((end) => end),
    });
    metrics.gauge({
      name: `${name}_seconds`,
      help: `${help}, in seconds from now`,
      collect: collect((end) => end - nowMs()),
    });
  };
  expiry("citadel_server_root_cert_expiry", "End of the first root to expire", ({ roots }) =>
    Math.min(...roots.map(({ notAfterMs }) => notAfterMs)),
  );
  expiry(
    "citadel_server_cert_chain_expiry",
    "End of the first certificate to expire from the signing one to the root",
    (now) => firstToExpire(now).notAfterMs,
  );
  metrics.gauge({
    name: "ca_waiting_requests",
    help: "Requests that wait to be signed",
    collect: (gauge) => gauge.set(waiting()),
  });
  const signFailures = metrics.counter({
    name: "citadel_server_csr_sign_err_count",
    help: "Requests that were refused when they came to be signed, by reason",
    labels: ["error"],
  });
  // An increase from nothing is none to Prometheus.
  for (const error of refusalKinds) signFailures.add(0, { error });
  return {
    signFailures,
    requests: metrics.counter({ name: "citadel_server_csr_count", help: "Certificate requests received" }),
    issued: metrics.counter({ name: "citadel_server_success_cert_issuance_count", help: "Certificates issued" }),
    authenticationFailures: metrics.counter({
      name: "citadel_server_authentication_failure_count",
      help: "Requests whose caller could not be authenticated",
    }),
    badRequests: metrics.counter({
      name: "citadel_server_csr_parsing_err_count",
      help: "Requests with a CSR that was refused",
    }),
    identityFailures: metrics.counter({
      name: "citadel_server_id_extraction_err_count",
      help: "Callers without an identity that a certificate can be issued for",
    }),
    ...boundMetrics(metrics),
    seconds: metrics.histogram({ name: "ca_issuance_seconds", help: "From the request to the reply, in seconds" }),
  };
}

/** Effects of the limits on clients. */
function boundMetrics(metrics: Metrics): Pick<CaMetrics, "refusalsUnlogged" | "idleConnectionsClosed"> {
  return {
    refusalsUnlogged: metrics.counter({
      name: "ca_refusals_unlogged_total",
      help: "Refused callers without a log line, by the log rate limit of their address",
    }),
    idleConnectionsClosed: metrics.counter({
      name: "ca_idle_connections_closed_total",
      help: "Oldest connections without a request, closed beyond their limit",
    }),
  };
}
