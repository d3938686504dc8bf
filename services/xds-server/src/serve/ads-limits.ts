/** What one server takes on, and for how long. */
import type { RawServerOptions } from "@flotilla/raw-grpc";

export interface AdsLimits {
  readonly newStreamsPerSecond: number;
  readonly newStreamsBurst: number;
  readonly newStreamMaxWaitMs: number;
  readonly maxRequestBytes: number;
  readonly maxStreamsPerConnection: number;
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** A connection is told to go after this, give or take a tenth; undefined: never. */
  readonly maxConnectionAgeMs: number | undefined;
  readonly maxConnectionAgeGraceMs: number;
  readonly drainMs: number;
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
