/**
 * The frame of a service: its log, metrics and health page stand before its parts start and are released after them. The first
 * part that fails ends the others and the service: there is no half-dead process.
 */
import { type Health, serveHealth } from "./health.ts";
import { type Introspection, introspectionSettings, openIntrospection } from "./introspection/introspection.ts";
import { FailingWork, keepRunning } from "./keep-running.ts";
import { LogLevels, parseScopeLevels } from "./log-levels.ts";
import { createLogger, type Logger, logSettings, openLogTargets } from "./logger.ts";
import { createMetrics, type Metrics, seriesOf } from "./metrics.ts";
import { type ProcessPages, processPages } from "./process-pages.ts";
import type { Readiness } from "./readiness.ts";
import { lifeSettings } from "./run.ts";
import { port, text } from "./settings/kinds.ts";
import { type SettingsOf, type SettingsTable, type ShownSetting, showSettings } from "./settings/settings.ts";
import { createTracer, type Tracer, tracingSettings } from "./tracing/tracer.ts";
import { watchdogSettings } from "./watchdog.ts";

/** Settings that every service has. @param healthPort the default of its HEALTH_PORT */
export function serviceSettings(healthPort: number) {
  return {
    ...logSettings,
    ...watchdogSettings,
    ...lifeSettings,
    ...introspectionSettings,
    ...tracingSettings,
    healthHost: text({
      env: "HEALTH_HOST",
      default: "0.0.0.0",
      sentence: "Address of the readiness, metrics and debug pages.",
    }),
    healthPort: port({
      env: "HEALTH_PORT",
      default: healthPort,
      sentence: "Port of the readiness, metrics and debug pages.",
    }),
  } as const;
}

/** The settings that the frame of a service reads. */
export type ServiceSettings = Pick<
  SettingsOf<ReturnType<typeof serviceSettings>>,
  "logLevel" | "healthHost" | "healthPort"
> & {
  readonly logScopeLevels?: readonly string[];
  readonly logTargets?: readonly string[];
  /** Introspection pages are open where both are given. */
  readonly introspectionHost?: string;
  readonly introspectionPort?: number;
  /** Traces are recorded where a collector is named. */
  readonly traceEndpoint?: string | undefined;
  readonly traceShare?: number;
};

/** Name, version and settings of a service, and what tests replace. */
export interface ServiceOptions<Settings extends ServiceSettings> {
  readonly name: string;
  readonly version: string;
  readonly settings: Settings;
  /** The table that the settings were read by, for the list of those in effect. */
  readonly table?: SettingsTable;
  /** Used instead of one with the level of the settings. */
  readonly log?: Logger | undefined;
  /** Memory, CPU and event loop of the process are among the metrics. */
  readonly processMetrics?: boolean;
}

/** The frame in which the parts of a service run. */
export interface Service<Settings extends ServiceSettings = ServiceSettings> {
  readonly name: string;
  readonly version: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly failures: FailingWork;
  /** Settings and log levels, for the service to serve to whom it lets see them. */
  readonly pages: ProcessPages;
  /** Absent unless a collector is named. */
  readonly tracer?: Tracer;
  /** Pages for the own host; undefined where the settings open none. */
  readonly introspection: Introspection | undefined;
  /** Fires when the service is to stop, and when a part of it has failed. */
  readonly stop: AbortSignal;
  /** Watches a part that runs beside the others: its failure ends the service. */
  inBackground(part: Promise<unknown>): void;
  /** Resolves when all parts have ended. @throws the first failure, which ends the service */
  runParts(parts: readonly (Promise<unknown> | undefined)[]): Promise<void>;
  /** Runs work that depends on a server of others, as `keepRunning` does: its failure never ends the service. `what` is one of a closed set. */
  keepRunning(what: string, work: (attempt: AbortSignal) => Promise<void>, log?: Logger): Promise<void>;
}

/**
 * Opens the health page and runs `run` until it ends or `stop` fires, and everything is released.
 * @throws the first failure of `run` or of a part; RuntimeError PORT_IN_USE, PORT_REFUSED, LOG_TARGET
 */
export async function startService<Settings extends ServiceSettings>(
  options: ServiceOptions<Settings>,
  run: (service: Service<Settings>) => Promise<void>,
  stop: AbortSignal,
): Promise<void> {
  const { name, version, settings } = options;
  const { healthHost: host, healthPort: port } = settings;
  const levels = new LogLevels(settings.logLevel, parseScopeLevels(settings.logScopeLevels ?? []));
  const log = options.log ?? createLogger(name, levels, openLogTargets(settings.logTargets ?? ["stdout"]));
  const metrics = createMetrics({ process: options.processMetrics === true });
  await using health = await serveHealth({ service: name, version, host, port, setting: "HEALTH_PORT", log, metrics });
  declareStartupDuration(metrics, health);
  declareConditions(metrics, health);
  const parts = new Parts(stop, log);
  // At once: work in hand may take as long as SHUTDOWN_DURATION, and no new work should arrive meanwhile.
  parts.stop.addEventListener("abort", () => health.readiness.markStopping(), { once: true });
  const failures = new FailingWork(metrics, health);
  const shown = shownSettings(options, log);
  await using introspection = await introspect(options, { log, levels, shown, end: () => parts.end() });
  const pages = processPages({ service: name, version, settings: shown, levels, log });
  const { traceEndpoint, traceShare = 1 } = settings;
  const tracer = createTracer({ traceEndpoint, traceShare, service: name, version, log });
  await using _tracing = { [Symbol.asyncDispose]: runTracer(tracer) };
  const service: Service<Settings> = {
    ...{ name, version, settings, log, metrics, health, failures, introspection, pages, stop: parts.stop },
    ...(tracer !== undefined && { tracer }),
    inBackground: (part) => parts.watch(part),
    runParts: async (all) => {
      for (const part of all) if (part !== undefined) parts.watch(part);
      await Promise.all(all);
    },
    keepRunning: (what, work, own = log) =>
      keepRunning(work, { what, log: own, failures, random: Math.random }, parts.stop),
  };
  await parts.during(() => run(service));
}

interface IntrospectionParts {
  readonly log: Logger;
  readonly levels: LogLevels;
  readonly shown: readonly ShownSetting[];
  readonly end: () => void;
}

function shownSettings<Settings extends ServiceSettings>(
  { table, settings }: ServiceOptions<Settings>,
  log: Logger,
): readonly ShownSetting[] {
  const shown = table === undefined ? [] : showSettings(table, settings as Readonly<Record<string, unknown>>);
  const changed = shown.filter(({ isDefault }) => !isDefault).map(({ name, value }) => [name, value]);
  if (changed.length > 0) log.info("settings in effect", { changed: Object.fromEntries(changed) });
  return shown;
}

async function introspect<Settings extends ServiceSettings>(
  { name: service, version, settings }: ServiceOptions<Settings>,
  { log, levels, shown, end }: IntrospectionParts,
): Promise<Introspection | undefined> {
  const { introspectionHost, introspectionPort } = settings;
  if (introspectionHost === undefined || introspectionPort === undefined) return undefined;
  const at = { introspectionHost, introspectionPort };
  return openIntrospection({ ...at, service, version, log, levels, settings: shown, end });
}

/** Sends until the function that it returns is called, which sends what is left. */
function runTracer(tracer: ReturnType<typeof createTracer>): () => Promise<void> {
  const ended = new AbortController();
  const running = tracer?.run(ended.signal);
  return async () => {
    ended.abort();
    await running;
  };
}

/** Shown once the service is ready. */
export function declareStartupDuration(
  metrics: Metrics,
  { readiness }: { readonly readiness: Pick<Readiness, "readySinceMs"> },
): void {
  const startedMs = Date.now() - process.uptime() * 1_000;
  metrics.gauge({
    name: "startup_duration_seconds",
    help: "Time from the start of the process to the readiness of the service.",
    collect: (gauge) => {
      const { readySinceMs } = readiness;
      if (readySinceMs !== undefined) gauge.set((readySinceMs - startedMs) / 1_000);
    },
  });
}

/** Exports the conditions that `/ready` shows as not well, for alerts. */
export function declareConditions(
  metrics: Metrics,
  { readiness }: { readonly readiness: Pick<Readiness, "report"> },
): void {
  metrics.gauge({
    name: "flotilla_conditions",
    help: "1 for each condition of /ready that is not well now, by its name",
    labels: ["condition"],
    collect: seriesOf(() =>
      readiness.report().conditions.map(({ name: condition }) => ({ labels: { condition }, value: 1 })),
    ),
  });
}

/** The concurrent parts of a service, and the signal that ends them all. */
class Parts {
  readonly stop: AbortSignal;
  readonly #log: Logger;
  readonly #ended = new AbortController();
  readonly #asked = new Error("stopped over the introspection pages");
  #failure: { readonly error: unknown } | undefined;

  constructor(stop: AbortSignal, log: Logger) {
    this.stop = AbortSignal.any([stop, this.#ended.signal]);
    this.#log = log;
  }

  /** As the signal of the process ends it. */
  end(): void {
    this.#ended.abort(this.#asked);
  }

  watch(part: Promise<unknown>): void {
    part.catch((error: unknown) => {
      if (this.stop.aborted) this.#noteLate(error);
      else {
        this.#failure = { error };
        this.#ended.abort(error);
      }
    });
  }

  async during(run: () => Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      // Waits that the signal ended reject with its reason, which is no failure.
      if (!this.stop.aborted) throw error;
      if (this.#failure === undefined && error !== this.stop.reason) throw error;
      this.#noteLate(error);
    } finally {
      this.#ended.abort(new Error("the service has ended"));
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #noteLate(error: unknown): void {
    if (error !== this.stop.reason) this.#log.warn("part failed during shutdown", { error });
  }
}
