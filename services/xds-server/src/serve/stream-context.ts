/** The parts, limits and timers that a stream shares with all others of its server. */
import type { RawServerOptions } from "@flotilla/raw-grpc";
import type { Logger } from "@flotilla/runtime";
import type { Bodies, RequestLimits, SharedStates } from "@flotilla/xds";
import type { PushScheduler } from "../push/push-queue.ts";
import type { DebugAnswers } from "./debug-answers.ts";
import type { Deliveries } from "./deliveries.ts";
import type { MessageCache, WriteDeadlines } from "./message-cache.ts";
import type { SharedRecords } from "./progress.ts";
import type { RejectionLog } from "./rejection-log.ts";
import type { ResourceSource } from "./resource-source.ts";
import type { StreamMetrics } from "./stream-metrics.ts";
import type { StreamObserver } from "./stream-record.ts";

export interface StreamContext {
  readonly source: ResourceSource;
  readonly scheduler: PushScheduler;
  readonly cache: MessageCache;
  readonly bodies: Bodies;
  readonly states: SharedStates;
  readonly records: SharedRecords;
  readonly debug: DebugAnswers | undefined;
  readonly observer: StreamObserver;
  readonly deliveries: Deliveries;
  readonly writes: WriteDeadlines;
  readonly metrics: StreamMetrics;
  readonly rejections: RejectionLog;
  readonly log: Logger;
  readonly limits: StreamLimits;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
}

export interface StreamLimits extends RequestLimits {
  /** How long pushes wait for the client to take what they build on. */
  readonly orderWaitMs: number;
  /** How long a push waits for the answer to the last message of its type. */
  readonly paceWaitMs: number;
  /** A client that takes no byte for this long is closed. */
  readonly stuckMs: number;
  /** After resources could not be made. */
  readonly retryMs: number;
}

export const defaultStreamLimits: StreamLimits = {
  orderWaitMs: 5_000,
  paceWaitMs: 1_000,
  stuckMs: 30_000,
  retryMs: 1_000,
  // Envoy subscribes to ten at most.
  maxTypes: 64,
  maxNames: 50_000,
};

/** Wakes a stream that waits for something at the earliest of the times it was asked for. */
export class TurnTimer {
  readonly #now: () => number;
  readonly #onTime: () => void;
  #timer: NodeJS.Timeout | undefined;
  #atMs = Number.POSITIVE_INFINITY;

  constructor(now: () => number, onTime: () => void) {
    this.#now = now;
    this.#onTime = onTime;
  }

  wakeAt(atMs: number): void {
    if (atMs >= this.#atMs) return;
    clearTimeout(this.#timer);
    this.#atMs = atMs;
    this.#timer = setTimeout(
      () => {
        this.#atMs = Number.POSITIVE_INFINITY;
        this.#onTime();
      },
      Math.max(1, atMs - this.#now()),
    );
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** The limits of one server: its load, and its times. */
export interface AdsLimits {
  readonly newStreamsPerSecond: number;
  readonly newStreamsBurst: number;
  readonly newStreamMaxWaitMs: number;
  readonly maxRequestBytes: number;
  readonly maxStreamsPerConnection: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Maximum age of a connection, ±10 % jitter; undefined: never. */
  readonly maxConnectionAgeMs: number | undefined;
  readonly maxConnectionAgeGraceMs: number;
  /** How long connections may stay open after their last stream ended. */
  readonly drainMs: number;
  /** Longest time in which the streams of a server that stops are ended. */
  readonly handOffMs: number;
  readonly cacheBytes: number;
  readonly cacheIdleMs: number;
}

export const defaultAdsLimits: AdsLimits = {
  newStreamsPerSecond: 500,
  newStreamsBurst: 500,
  newStreamMaxWaitMs: 5_000,
  maxRequestBytes: 4 * 1024 * 1024,
  maxStreamsPerConnection: 100_000,
  keepaliveMs: 30_000,
  keepaliveTimeoutMs: 10_000,
  maxConnectionAgeMs: undefined,
  maxConnectionAgeGraceMs: 10_000,
  drainMs: 2_000,
  handOffMs: 5_000,
  cacheBytes: 64 * 1024 * 1024,
  cacheIdleMs: 10_000,
};

/** Of the connections beneath the streams. */
export function connectionLimits(limits: AdsLimits): Omit<RawServerOptions, "methods"> {
  return {
    maxMessageBytes: limits.maxRequestBytes,
    maxStreamsPerConnection: limits.maxStreamsPerConnection,
    keepaliveMs: limits.keepaliveMs,
    keepaliveTimeoutMs: limits.keepaliveTimeoutMs,
    maxAgeMs: limits.maxConnectionAgeMs,
    maxAgeGraceMs: limits.maxConnectionAgeGraceMs,
  };
}
