export {
  type CompliancePolicy,
  type HttpHandler,
  type HttpReply,
  type HttpRequest,
  type ListShape,
  listPage,
  sendJson,
  serverTlsParameters,
  type TlsPolicy,
} from "@flotilla/http";
export { readAdminAddress, recordAdminAddress } from "./admin-records.ts";
export { BoundedQueue } from "./bounded-queue.ts";
export { defaultPorts } from "./default-ports.ts";
export { RuntimeError, type RuntimeErrorCode } from "./errors.ts";
export { FileReader, type FilesVersion, followFiles } from "./follow-files.ts";
export { type Health, type HealthOptions, serveHealth } from "./health.ts";
export { hostFailure } from "./host-failure.ts";
export type { Introspection } from "./introspection/introspection.ts";
export { FailingWork, type KeepRunningOptions, keepRunning, keepTrying } from "./keep-running.ts";
export { LineBudgets, refusedCallerLines } from "./line-budgets.ts";
export { type ListenOptions, listen } from "./listen.ts";
export { type LogLevel, LogLevels } from "./log-levels.ts";
export { createLogger, type LogDestination, type LogFields, type Logger, noopLogger } from "./logger.ts";
export { limitHeapGrowth, memoryEnvironment, releaseMemory, releaseWhenQuiet } from "./memory.ts";
export { mergeGroups } from "./merge-groups.ts";
export {
  type Counter,
  createMetrics,
  type Gauge,
  type Histogram,
  latencyBuckets,
  type Metrics,
  type MetricsOptions,
  seriesOf,
} from "./metrics.ts";
export { type BucketSums, bucketsOf, type MetricSums, quantileOf, sumsOf } from "./metrics-text.ts";
export { forOwnHost, isFromOwnHost, ownHostSettings, pageWriterSetting } from "./own-host.ts";
export type { ProcessPages } from "./process-pages.ts";
export type { Condition, ReadyReport } from "./readiness.ts";
export { type FailureReport, lifeSettings, type RunOptions, runUntilSignal } from "./run.ts";
export * from "./settings/index.ts";
export { onSharedTick, sharedDelay } from "./shared-delay.ts";
export {
  type Service,
  type ServiceOptions,
  type ServiceSettings,
  serviceSettings,
  startService,
} from "./start-service.ts";
export type { Tracer } from "./tracing/tracer.ts";
export { TimeSlice, Turns } from "./turns.ts";
export {
  aborted,
  ageMs,
  type BackoffOptions,
  backoff,
  coalesced,
  delay,
  delayByWallClock,
  orAborted,
  type TimeLimit,
  timeLimit,
  type UntilOptions,
  until,
  untilStopped,
  Wakeup,
} from "./wait.ts";
export { startWatchdog, type WatchdogOptions, watchdogSettings } from "./watchdog.ts";
