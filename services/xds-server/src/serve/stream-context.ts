/** What a stream stands on: its socket, and what it shares with all streams of the server. */
import type { Logger } from "@flotilla/runtime";
import type { Bodies, Interner, NameSet } from "@flotilla/xds";
import type { PushScheduler } from "../push/push-queue.ts";
import type { DebugAnswers } from "./debug-answers.ts";
import type { Deliveries } from "./deliveries.ts";
import type { MessageCache } from "./message-cache.ts";
import type { ResourceSource } from "./resource-source.ts";
import type { StreamError } from "./stream-error.ts";
import type { StreamMetrics } from "./stream-metrics.ts";
import type { StreamObserver } from "./stream-record.ts";

/** The socket's side. */
export interface Wire {
  readonly peer: string;
  /** Resolves when the frame has left; rejects when it cannot any more. */
  write(frame: Buffer): Promise<void>;
  end(reason: StreamError): void;
  /** Ends the connection of a client that does not read, since it would not read an end either. */
  destroy(): void;
}

/** What all streams of a server share. */
export interface StreamContext {
  readonly source: ResourceSource;
  readonly scheduler: PushScheduler;
  readonly cache: MessageCache;
  readonly bodies: Bodies;
  readonly names: Interner<NameSet>;
  readonly debug: DebugAnswers | undefined;
  readonly observer: StreamObserver;
  readonly deliveries: Deliveries;
  readonly metrics: StreamMetrics;
  readonly log: Logger;
  readonly limits: StreamLimits;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
}

export interface StreamLimits {
  /** How long pushes wait for the client to take what they build on. */
  readonly orderWaitMs: number;
  /** A client that takes no byte for this long is closed. */
  readonly stuckMs: number;
  /** After resources could not be made. */
  readonly retryMs: number;
}

export const defaultStreamLimits: StreamLimits = { orderWaitMs: 5_000, stuckMs: 30_000, retryMs: 1_000 };
