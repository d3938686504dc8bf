/** Resource use and work of each replica, from two readings of its metrics. Pure. */

import type { MetricSums } from "@flotilla/runtime";

/** One reading of a replica's metrics. */
export interface Reading {
  readonly atMs: number;
  readonly sums: MetricSums;
}

/** Resource use and work of a replica between two readings; undefined where its metrics do not report it. */
export interface ReplicaLoad {
  readonly replica: string;
  /** Share of one processor, 1 for all of it. */
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly heapBytes?: number;
  /** 99th percentile of the event loop's delay, in seconds. */
  readonly loopDelaySeconds?: number;
  readonly openFiles?: number;
  /** Connected proxies. */
  readonly proxies?: number;
  /** The service's main work, a second: changes, certificates, pods. */
  readonly perSecond?: number;
  readonly unit?: string;
}

/** The work of each service, by the metrics that count it. */
const work: ReadonlyMap<string, { readonly metrics: readonly string[]; readonly unit: string }> = new Map(
  Object.entries({
    "xds-server": { metrics: ["pilot_xds_pushes"], unit: "messages" },
    "config-controller": { metrics: ["flotilla_config_published_total"], unit: "changes" },
    "service-controller": { metrics: ["flotilla_registry_published_total"], unit: "changes" },
    ca: { metrics: ["citadel_server_success_cert_issuance_count"], unit: "certificates" },
    webhook: {
      metrics: ["sidecar_injection_requests_total", "galley_validation_passed", "galley_validation_failed"],
      unit: "requests",
    },
  }),
);

/** `service`: whose replica it is. */
export function loadBetween(service: string, replica: string, before: Reading, now: Reading): ReplicaLoad {
  const seconds = (now.atMs - before.atMs) / 1_000;
  const rate = (names: readonly string[]): number | undefined => {
    const found = names.filter((name) => now.sums.has(name));
    if (found.length === 0 || seconds <= 0) return undefined;
    const grown = found.map((name) => (now.sums.get(name) ?? 0) - (before.sums.get(name) ?? 0));
    // A replica that was started again in between counts from zero.
    return (
      Math.max(
        0,
        grown.reduce((sum, value) => sum + value, 0),
      ) / seconds
    );
  };
  const values = {
    cpu: rate(["process_cpu_seconds_total"]),
    memoryBytes: now.sums.get("process_resident_memory_bytes"),
    heapBytes: now.sums.get("nodejs_heap_size_used_bytes"),
    loopDelaySeconds: now.sums.get("nodejs_eventloop_lag_p99_seconds"),
    openFiles: now.sums.get("process_open_fds"),
    proxies: now.sums.get("pilot_xds"),
    perSecond: rate(work.get(service)?.metrics ?? []),
    unit: work.get(service)?.unit,
  };
  return { replica, ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) };
}

const headings = ["REPLICA", "CPU", "MEMORY", "HEAP", "LOOP P99", "FILES", "PROXIES", "WORK"];

/** Rows of a table; replicas without an answer have their reason alone. */
export function loadRows(loads: readonly (ReplicaLoad | UnreadReplica)[]): readonly (readonly string[])[] {
  return [headings, ...loads.map((load) => ("problem" in load ? [load.replica, load.problem] : rowOf(load)))];
}

/** A replica whose metrics could not be read. */
export interface UnreadReplica {
  readonly replica: string;
  readonly problem: string;
}

function rowOf({ replica, cpu, memoryBytes, heapBytes, loopDelaySeconds, openFiles, proxies, ...work }: ReplicaLoad) {
  const { perSecond, unit = "" } = work;
  return [
    replica,
    text(cpu, (value) => `${(value * 100).toFixed(1)}%`),
    text(memoryBytes, megabytes),
    text(heapBytes, megabytes),
    text(loopDelaySeconds, (value) => `${(value * 1_000).toFixed(1)}ms`),
    text(openFiles, String),
    text(proxies, String),
    text(perSecond, (value) => `${value.toFixed(1)} ${unit}/s`),
  ];
}

function text(value: number | undefined, show: (value: number) => string): string {
  return value === undefined || Number.isNaN(value) ? "-" : show(value);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 ** 2)}Mi`;
}
