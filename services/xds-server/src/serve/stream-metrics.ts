/** Metrics of the streams; names that other tools rely on are istiod's. */

import { shortName } from "@flotilla/proto";
import { latencyBuckets, type Metrics } from "@flotilla/runtime";
import type { DeliveryMetrics } from "./deliveries.ts";

export interface StreamMetrics extends DeliveryMetrics {
  connected(version: string, change: 1 | -1): void;
  sent(typeUrl: string, bytes: number): void;
  received(bytes: number): void;
  sendTime(seconds: number): void;
  /** Making a message: selecting, building, encoding. */
  pushTime(typeUrl: string, seconds: number): void;
  rejected(typeUrl: string): void;
  /** Of the rejections that were counted: no log line of their own. */
  rejectionUnlogged(): void;
  /** A counted refusal without a log line. */
  refusalUnlogged(): void;
  expiredNonce(typeUrl: string): void;
  closedStuck(): void;
  /** A connection without a stream made room for the next. */
  closedIdle(): void;
  /** Asked to connect again, since other replicas serve less. */
  handedOff(): void;
  refused(reason: RefusalReason): void;
  internalError(): void;
  /** The client's own ProxyConfig has unreadable fields, which count as not set. */
  unreadableConfig(): void;
}

const refusalReasons = ["not_ready", "rate", "unauthenticated", "denied", "node", "request", "size", "limit"] as const;
export type RefusalReason = (typeof refusalReasons)[number];

const rejectNames = ["cds", "lds", "rds", "eds"] as const;

export function createStreamMetrics(metrics: Metrics): StreamMetrics {
  const versions = new VersionLabels();
  const pilotXds = metrics.gauge({ name: "pilot_xds", help: "Connected proxies by version", labels: ["version"] });
  const pushes = metrics.counter({ name: "pilot_xds_pushes", help: "Messages sent", labels: ["type"] });
  const size = metrics.histogram({
    name: "pilot_xds_config_size_bytes",
    help: "Size of messages sent, in bytes",
    labels: ["type"],
    buckets: [1, 10_000, 100_000, 1_000_000, 4_000_000, 10_000_000, 40_000_000],
  });
  const received = metrics.gauge({ name: "pilot_xds_recv_max", help: "Size of the largest request so far, in bytes" });
  let largest = 0;
  received.set(largest);
  const stuck = metrics.counter({
    name: "pilot_xds_write_timeout",
    help: "Streams closed because their clients did not read",
  });
  const idle = metrics.counter({
    name: "flotilla_xds_idle_connections_closed_total",
    help: "Oldest connections without a request, closed beyond their limit",
  });
  const errors = metrics.counter({ name: "pilot_total_xds_internal_errors", help: "Resources that could not be made" });
  const handedOff = metrics.counter({
    name: "flotilla_xds_streams_handed_off_total",
    help: "Streams asked to connect again for balance",
  });
  const refused = metrics.counter({
    name: "flotilla_xds_streams_refused_total",
    help: "Streams that were not served",
    labels: ["reason"],
  });
  // An increase from nothing is none to Prometheus.
  for (const reason of refusalReasons) refused.add(0, { reason });
  return {
    connected: (stated, change) => {
      const { version, count } = versions.count(stated, change);
      if (count > 0) pilotXds.set(count, { version });
      else pilotXds.remove({ version });
    },
    sent: (typeUrl, bytes) => {
      const type = shortName(typeUrl);
      pushes.add(1, { type });
      size.observe(bytes, { type });
    },
    received: (bytes) => {
      if (bytes <= largest) return;
      largest = bytes;
      received.set(bytes);
    },
    ...timeMetrics(metrics),
    ...lookMetrics(metrics),
    ...answerMetrics(metrics),
    ...nodeMetrics(metrics),
    closedStuck: () => stuck.add(1),
    closedIdle: () => idle.add(1),
    handedOff: () => handedOff.add(1),
    refused: (reason) => refused.add(1, { reason }),
    internalError: () => errors.add(1),
  };
}

type Times = Pick<StreamMetrics, "sendTime" | "pushTime" | "converged" | "delivered">;

function timeMetrics(metrics: Metrics): Times {
  const sendTime = metrics.histogram({
    name: "pilot_xds_send_time",
    help: "Time until a message has left for the network, in seconds",
    buckets: latencyBuckets,
  });
  const pushTime = metrics.histogram({
    name: "pilot_xds_push_time",
    help: "Time to make a message, in seconds",
    labels: ["type"],
    buckets: latencyBuckets,
  });
  const convergence = metrics.histogram({
    name: "pilot_proxy_convergence_time",
    help: "Time from the application of a change to the acknowledgement of a proxy it concerns, in seconds",
    buckets: latencyBuckets,
  });
  const delivery = metrics.histogram({
    name: "flotilla_change_delivery_seconds",
    help: "Time from the source's event to the last acknowledgement of all proxies it concerns, in seconds",
    labels: ["kind"],
    buckets: latencyBuckets,
  });
  return {
    sendTime: (seconds) => sendTime.observe(seconds),
    pushTime: (typeUrl, seconds) => pushTime.observe(seconds, { type: shortName(typeUrl) }),
    converged: (seconds) => convergence.observe(seconds),
    delivered: (kind, seconds) => delivery.observe(seconds, { kind }),
  };
}

function lookMetrics(metrics: Metrics): Pick<StreamMetrics, "lookedAt"> {
  const lookedAt = { sent: 0, unchanged: 0 };
  const looks = metrics.counter({
    name: "flotilla_xds_looks_total",
    help: "Types of streams looked at because of a change, by whether a message was sent",
    labels: ["outcome"],
  });
  metrics.gauge({
    name: "flotilla_xds_wasted_push_ratio",
    help: "Share of looks that found nothing to send, since the start",
    collect: (gauge) => gauge.set(lookedAt.unchanged / Math.max(1, lookedAt.sent + lookedAt.unchanged)),
  });
  return {
    lookedAt: (outcome) => {
      lookedAt[outcome]++;
      looks.add(1, { outcome });
    },
  };
}

/** Problems in the node metadata of clients. */
function nodeMetrics(metrics: Metrics): Pick<StreamMetrics, "unreadableConfig"> {
  const unreadable = metrics.counter({
    name: "flotilla_xds_unreadable_proxy_configs_total",
    help: "Streams of proxies whose own ProxyConfig has fields that cannot be read",
  });
  return { unreadableConfig: () => unreadable.add(1) };
}

/** Of what clients answer to messages. */
function answerMetrics(
  metrics: Metrics,
): Pick<StreamMetrics, "rejected" | "rejectionUnlogged" | "refusalUnlogged" | "expiredNonce"> {
  const rejects = metrics.counter({ name: "pilot_total_xds_rejects", help: "Messages refused", labels: ["type"] });
  for (const type of rejectNames) rejects.add(0, { type });
  const rejectsOf = new Map<string, { add(value: number): void }>(
    rejectNames.map((name) => [name, metrics.counter({ name: `pilot_xds_${name}_reject`, help: `${name} refused` })]),
  );
  const refusalsUnlogged = metrics.counter({
    name: "flotilla_xds_refusals_unlogged_total",
    help: "Refused streams without a log line, by the log rate limit of their address",
  });
  const unlogged = metrics.counter({
    name: "flotilla_xds_rejections_unlogged_total",
    help: "Rejections without a log line, by the log rate limit of their proxy",
  });
  const expired = metrics.counter({
    name: "pilot_xds_expired_nonce",
    help: "Answers to older messages",
    labels: ["type"],
  });
  return {
    rejected: (typeUrl) => {
      const type = shortName(typeUrl);
      rejects.add(1, { type });
      rejectsOf.get(type)?.add(1);
    },
    rejectionUnlogged: () => unlogged.add(1),
    refusalUnlogged: () => refusalsUnlogged.add(1),
    expiredNonce: (typeUrl) => expired.add(1, { type: shortName(typeUrl) }),
  };
}

const versionForm = /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/;
const maxVersions = 100;

/**
 * Counts streams by the version that their clients state. The text comes from outside: an invalid version, or one too many, counts as
 * `other`, and a label goes with its last stream.
 */
class VersionLabels {
  readonly #counts = new Map<string, number>();
  /** Streams that were counted as `other` for want of room, by the version they stated: they leave the same label. */
  readonly #others = new Map<string, number>();

  /** The label of the version, and how many streams it has after the change. */
  count(stated: string, change: 1 | -1): { readonly version: string; readonly count: number } {
    const version = this.#labelOf(stated, change);
    return { version, count: add(this.#counts, version, change) };
  }

  #labelOf(stated: string, change: 1 | -1): string {
    if (!versionForm.test(stated)) return "other";
    const isOther =
      change === 1 ? !this.#counts.has(stated) && this.#counts.size >= maxVersions : this.#others.has(stated);
    if (!isOther) return stated;
    add(this.#others, stated, change);
    return "other";
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
  return count;
}
