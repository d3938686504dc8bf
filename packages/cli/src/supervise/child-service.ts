/** One run of a service as a child process: its log in a file, its end and the reason of it noticed. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, statSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type FailureReport, lifeSettings, memoryEnvironment, parseSettings } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import type { ServiceName } from "../layout.ts";
import { healthOf } from "./health.ts";
import { lastEvent } from "./last-event.ts";
import type { Run } from "./supervised.ts";

export interface ChildService extends Run, AsyncDisposable {
  readonly name: ServiceName;
  readonly healthUrl: string;
  /** Rejects when the service ends before it is disposed of. */
  readonly ended: Promise<never>;
}

export interface ChildOptions {
  readonly name: ServiceName;
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
  /** A file, or this process's own output. */
  readonly logFile: string | undefined;
  /** Where Node keeps compiled code between runs; only the own user may write there. */
  readonly compiledCodeDir?: string;
}

/** The service ends itself after SHUTDOWN_DURATION. */
const stopWithinMs = 8_000;

export function startChild(options: ChildOptions): ChildService {
  const { name, healthUrl, logFile } = options;
  const logFrom = logFile === undefined ? 0 : (statSync(logFile, { throwIfNoEntry: false })?.size ?? 0);
  const child = spawnService(options);
  let isStopping = false;
  const exited = reasonOfEnd(child, () => (logFile === undefined ? undefined : lastEvent(logFile, logFrom)));
  const ended = exited.then((reason) => {
    if (isStopping) return new Promise<never>(() => {});
    throw new CliError("CLI_SERVICE_ENDED", `${name} ended by itself: ${reason}`);
  });
  // Callers that await it see the rejection; without one this process must not end.
  ended.catch(() => undefined);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    isStopping = true;
    // One that has ended takes no signal.
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopWithin(options.env));
    await exited;
    clearTimeout(timer);
  };
  return {
    name,
    pid: child.pid,
    healthUrl,
    exited,
    ended,
    isReady: async () => (await healthOf({ healthUrl, pid: child.pid })).state === "ready",
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

function stopWithin(env: Readonly<Record<string, string>>): number {
  if (env["SHUTDOWN_DURATION"] === undefined) return stopWithinMs;
  return parseSettings(lifeSettings, env).shutdownMs + 1_000;
}

function spawnService({ name, env, logFile, compiledCodeDir }: ChildOptions): ChildProcess {
  const compiledIn = ownCompiledCodeDir() ?? compiledCodeDir;
  const script = programOf(name, env);
  const output = logFile === undefined ? "inherit" : openSync(logFile, "a");
  const child = spawn(process.execPath, [script], {
    env: {
      ...memoryEnvironment,
      ...(compiledIn !== undefined && { NODE_COMPILE_CACHE: compiledIn }),
      ...env,
    },
    // A service ends when its channel closes, so that none outlives a process that was killed.
    stdio: ["ignore", output, output, "ipc"],
    // In a process group of its own: a Ctrl-C reaches this process only, which stops the services in order.
    detached: true,
  });
  if (typeof output === "number") closeSync(output);
  return child;
}

/** Whole runs of the tests start services as images have them: a bundle needs less than half the time of the sources to start. */
function programOf(name: ServiceName, env: ChildOptions["env"]): string {
  const bundle = env["FLOTILLA_TEST_BUNDLE"] ?? process.env["FLOTILLA_TEST_BUNDLE"];
  if (bundle !== undefined) return join(bundle, `services/${name}/bin/main.js`);
  return fileURLToPath(new URL(`../../../../services/${name}/bin/main.ts`, import.meta.url));
}

/** Where this process keeps compiled code, as tests do for all that they start: services load the same modules. */
function ownCompiledCodeDir(): string | undefined {
  const directory = getCompileCacheDir();
  // Node adds a directory for its version to the one it is given.
  return directory === undefined ? undefined : dirname(directory);
}

/** How the child ended, with the failure that it reported, or else the last event of its log. */
function reasonOfEnd(child: ChildProcess, lastLogged: () => string | undefined): Promise<string> {
  let failure: string | undefined;
  child.on("message", (message: Partial<FailureReport>) => {
    failure = message.failed ?? failure;
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("error", (error) => resolve(error.message));
  child.once("exit", (code, signal) => {
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    const why = failure ?? (signal === null ? lastLogged() : undefined);
    resolve(why === undefined ? how : `${how}, ${why}`);
  });
  return promise;
}
