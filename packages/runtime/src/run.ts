/** The life of a process: a main that runs until it is asked to stop, and an exit code for the outcome. */
import { flushCompileCache } from "node:module";
import { hostFailure } from "./host-failure.ts";
import type { Logger } from "./logger.ts";
import { duration } from "./settings/kinds.ts";
import { parseSettings, unknownSettings } from "./settings/settings.ts";
import { startWatchdog, watchdogSettings } from "./watchdog.ts";

/** The end of a service. */
export const lifeSettings = {
  shutdownMs: duration({
    env: "SHUTDOWN_DURATION",
    default: 15_000,
    min: 100,
    max: 3_600_000,
    sentence: "Longest time for a graceful end after SIGTERM; the process ends then, whatever is not released.",
  }),
} as const;

/** The log, and the time that releasing may take, in milliseconds. */
export interface RunOptions {
  readonly log: Logger;
  /** How long releasing may take after the signal; SHUTDOWN_DURATION of a service unless given. */
  readonly graceMs?: number;
  /**
   * Of a service: its name and its environment. A watchdog runs as long as `main`, and variables that look like settings and are none
   * are logged.
   */
  readonly service?: { readonly name: string; readonly env: Readonly<Record<string, string | undefined>> };
}

/** Sent over the channel to the parent before a process ends because of a failure. */
export interface FailureReport {
  readonly failed: string;
}

/** After start-up, when nothing waits for this thread. */
const saveCompiledCodeMs = 5_000;

/**
 * Runs `main` until SIGINT or SIGTERM; a second signal ends the process at once. A process that its parent started with a channel (`stdio:
 * "ipc"`) ends with its parent, however that ends. A failure is logged, reported over that channel, and becomes exit code 1. Handles that
 * keep the process alive after `main` ended are named and ended.
 */
export async function runUntilSignal(
  main: (stop: AbortSignal) => Promise<void>,
  { log, graceMs, service }: RunOptions,
): Promise<void> {
  const stop = new AbortController();
  let endMs = graceMs ?? lifeSettings.shutdownMs.default;
  const end = (cause: string): void => {
    log.info("stopping", { cause });
    stop.abort(new Error(`stopped by ${cause}`));
    setTimeout(() => endLingering(log, endMs, 1), endMs).unref();
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      log.warn("second signal, exiting without release", { signal });
      process.exit(130);
    }
    end(signal);
  };
  const onOrphaned = (): void => {
    if (!stop.signal.aborted) end("the end of its parent");
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  process.on("disconnect", onOrphaned);
  process.channel?.unref();
  // Where NODE_COMPILE_CACHE names a directory, Node saves compiled code at a regular exit only, and a crash is none.
  const saving = setTimeout(flushCompileCache, saveCompiledCodeMs).unref();
  try {
    if (service !== undefined) {
      warnOfUnknownSettings(service.env, log);
      endMs = graceMs ?? parseSettings(lifeSettings, service.env).shutdownMs;
    }
    await watched(() => main(stop.signal), service);
    log.info("stopped");
  } catch (error) {
    // The reason of the signal that comes back as a rejection is a normal end.
    if (error === stop.signal.reason && stop.signal.aborted) log.info("stopped");
    else {
      const advice = hostFailure(error);
      log.error("failed", { error, ...(advice !== undefined && { advice }) });
      reportFailure(advice ?? error);
      process.exitCode = 1;
    }
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
    process.off("disconnect", onOrphaned);
    clearTimeout(saving);
    setTimeout(() => endLingering(log, 1_000, 0), 1_000).unref();
  }
}

/** @throws RuntimeError SETTINGS_INVALID */
async function watched(main: () => Promise<void>, service: RunOptions["service"]): Promise<void> {
  await using _watchdog =
    service === undefined
      ? undefined
      : startWatchdog({ service: service.name, ...parseSettings(watchdogSettings, service.env) });
  await main();
}

/** Once at the start of a process. */
function warnOfUnknownSettings(env: Readonly<Record<string, string | undefined>>, log: Logger): void {
  for (const { name, nearest } of unknownSettings(env))
    log.warn("variable has no effect: it is a setting of no service", { name, ...(nearest && { nearest }) });
}

function reportFailure(error: unknown): void {
  if (!process.connected) return;
  const report: FailureReport = { failed: error instanceof Error ? error.message : String(error) };
  // The parent may end at the same moment: the log has the failure then.
  process.send?.(report, undefined, undefined, () => undefined);
}

function endLingering(log: Logger, afterMs: number, exitCode: number): never {
  log.warn("resources not released, exiting", { afterMs, open: process.getActiveResourcesInfo() });
  process.exit(process.exitCode ?? exitCode);
}
