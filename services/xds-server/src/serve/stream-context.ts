/** What a stream shares with all others of its server. */
import type { Logger } from "@flotilla/runtime";
import type { Bodies, RequestLimits, SharedStates } from "@flotilla/xds";
import type { PushScheduler } from "../push/push-queue.ts";
import type { DebugAnswers } from "./debug-answers.ts";
import type { Deliveries } from "./deliveries.ts";
import type { MessageCache } from "./message-cache.ts";
import type { ResourceSource } from "./resource-source.ts";
import type { SharedRecords } from "./shared-records.ts";
import type { StreamMetrics } from "./stream-metrics.ts";
import type { StreamObserver } from "./stream-record.ts";
import type { WriteDeadlines } from "./writer.ts";

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
  readonly log: Logger;
  readonly limits: StreamLimits;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
}

export interface StreamLimits extends RequestLimits {
  /** How long pushes wait for the client to take what they build on. */
  readonly orderWaitMs: number;
  /** A client that takes no byte for this long is closed. */
  readonly stuckMs: number;
  /** After resources could not be made. */
  readonly retryMs: number;
}

export const defaultStreamLimits: StreamLimits = {
  orderWaitMs: 5_000,
  stuckMs: 30_000,
  retryMs: 1_000,
  // Envoy subscribes to ten at most.
  maxTypes: 64,
  maxNames: 50_000,
};
