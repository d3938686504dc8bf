/** The metrics of config-controller. */
import { type Counter, type Gauge, type Histogram, type Metrics, seriesOf } from "@flotilla/runtime";
import { type ApiMetrics, declareApiMetrics } from "./api/observe.ts";

export interface ConfigMetrics {
  readonly refused: Gauge;
  readonly conflicts: Gauge;
  readonly held: Gauge<"directory">;
  /** Changes that the stream did not hold yet. */
  readonly publishedAgain: Counter;
  readonly published: Counter<"op">;
  readonly publishSeconds: Histogram;
  /** Of a Kubernetes API. */
  readonly kubernetesEvents: Counter<"type" | "event">;
  readonly keysFetched: Counter;
  readonly keysNotFetched: Counter;
  readonly api: ApiMetrics;
  /** Into Kubernetes. */
  readonly statusWrites: Counter;
}

export function declareMetrics(metrics: Metrics): ConfigMetrics {
  return {
    refused: metrics.gauge({ name: "flotilla_config_refused", help: "Objects and files that are refused now." }),
    conflicts: metrics.gauge({
      name: "flotilla_config_conflicts",
      help: "Objects that more than one source has: the first source wins.",
    }),
    held: metrics.gauge({
      name: "flotilla_config_held_objects",
      help: "Objects of a directory that has become empty, kept in force until that is confirmed.",
      labels: ["directory"],
    }),
    publishedAgain: metrics.counter({
      name: "flotilla_stream_repairs_total",
      help: "Changes that the stream did not hold as they were published, and that were published again.",
    }),
    published: metrics.counter({
      name: "flotilla_config_published_total",
      help: "Changes published, by operation.",
      labels: ["op"],
    }),
    kubernetesEvents: metrics.counter({
      name: "pilot_k8s_cfg_events",
      help: "Configuration objects of Kubernetes added, updated and deleted, by kind.",
      labels: ["type", "event"],
    }),
    keysFetched: metrics.counter({
      name: "pilot_jwks_resolver_network_fetch_success_total",
      help: "Key sets of issuers that were fetched.",
    }),
    keysNotFetched: metrics.counter({
      name: "pilot_jwks_resolver_network_fetch_fail_total",
      help: "Attempts to fetch key sets of issuers that failed.",
    }),
    statusWrites: metrics.counter({
      name: "flotilla_status_writes_total",
      help: "Times the status of an object was written into Kubernetes.",
    }),
    publishSeconds: metrics.histogram({
      name: "flotilla_config_publish_seconds",
      help: "From the write of the source to the acknowledged publication of the change.",
    }),
    api: declareApiMetrics(metrics),
  };
}

/** Looked up when it is read. */
export function declareObjectsGauge(metrics: Metrics, counts: () => ReadonlyMap<string, number>): void {
  metrics.gauge({
    name: "flotilla_config_objects",
    help: "Objects in force, by kind.",
    labels: ["kind"],
    collect: seriesOf(() => [...counts()].map(([kind, value]) => ({ labels: { kind }, value }))),
  });
}

/** Looked up when it is read. `away`: of each other cluster, since when its Secrets cannot be read. */
export function declareAwayGauge(
  metrics: Metrics,
  away: () => ReadonlyMap<string, { readonly sinceMs: number } | undefined>,
  nowMs: () => number,
): void {
  metrics.gauge({
    name: "flotilla_cluster_away_seconds",
    help: "Age of the last state of an unreachable cluster; 0 while it is reachable.",
    labels: ["cluster"],
    collect: seriesOf(() =>
      [...away()].map(([cluster, since]) => ({
        labels: { cluster },
        value: since === undefined ? 0 : (nowMs() - since.sinceMs) / 1_000,
      })),
    ),
  });
}

/** Looked up when it is read. */
export function declareDutyGauge(metrics: Metrics, isOurs: () => boolean): void {
  metrics.gauge({
    name: "flotilla_config_publishes",
    help: "1 in the replica that publishes configuration, 0 in those that wait for their turn.",
    collect: (gauge) => gauge.set(isOurs() ? 1 : 0),
  });
}

/** Counts what the stream took: neither what it held already nor what another replica publishes. */
export function publishedCounter({ published }: Pick<ConfigMetrics, "published">) {
  return (changes: readonly { readonly op: "put" | "delete" }[]): void => {
    const puts = changes.filter(({ op }) => op === "put").length;
    if (puts > 0) published.add(puts, { op: "put" });
    if (puts < changes.length) published.add(changes.length - puts, { op: "delete" });
  };
}
