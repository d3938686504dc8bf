/** The whole control plane on one host: services as processes with real NATS and Redis, or all in this one. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSettings, startWatchdog, unknownSettings, until, watchdogSettings } from "@flotilla/runtime";
import { environmentOf, type Shared } from "../environment.ts";
import { CliError } from "../errors.ts";
import { healthPort, type Layout, paths, portsFrom, type ServiceName } from "../layout.ts";
import type { RunOptions } from "../options.ts";
import { openRunning, readRunning } from "../running.ts";
import { startBalancer } from "./balancer.ts";
import { startChild } from "./child-service.ts";
import { startInProcess } from "./in-process.ts";
import { consoleSettings, type Instance, planInstances } from "./instances.ts";
import { portsFree } from "./ports-free.ts";
import { factsOf, isAlive } from "./processes.ts";
import { type RunningService, runningService } from "./running-service.ts";
import { openShared, type Servers } from "./shared-servers.ts";
import { Supervised, type SupervisionEvent } from "./supervised.ts";
import { lockWorkDir } from "./work-dir-lock.ts";

export interface ControlPlane extends AsyncDisposable {
  readonly layout: Layout;
  /** Every replica of every service. */
  readonly services: readonly RunningService[];
  readonly shared: Shared;
  /** The servers that were started for it; none when it is embedded or was given their addresses. */
  readonly servers: Servers;
  /** The settings that the first replica of a service was started with. */
  environment(service: ServiceName): Readonly<Record<string, string>>;
  readonly startedAtMs: number;
  /** Rejects when a process ends again and again. */
  readonly ended: Promise<never>;
}

export interface StartControlPlaneOptions {
  readonly options: RunOptions;
  /** Logs of the services: files in the work directory, or this process's output. */
  readonly logs: "files" | "output";
  readonly onProgress: (text: string) => void;
  /** A process ended, or was started again. */
  readonly onEvent?: (event: SupervisionEvent) => void;
  /** The command of `flotilla` that starts it, shown when the work directory is in use. */
  readonly command?: string;
  /** Runs once it is certain that the work directory and the ports are ours. */
  readonly prepare?: () => Promise<void>;
  /** Gives up what has not been started yet. */
  readonly stop?: AbortSignal;
}

/** Services end soon after the process that started them was killed. */
const endWithinMs = 10_000;

/**
 * Resolves when everything is started, not yet ready.
 * @throws CliError CLI_IN_USE, CLI_PORT_TAKEN; ServersError; the reason of `stop`
 */
export async function startControlPlane(given: StartControlPlaneOptions): Promise<ControlPlane> {
  const { options, stop = new AbortController().signal } = given;
  const layout: Layout = { workDir: options.workDir, ports: options.ports ?? portsFrom(options.firstPort) };
  const startedAtMs = Date.now();
  const owned = new AsyncDisposableStack();
  try {
    prepareDirectory(layout);
    owned.use(await lockWorkDir(layout.workDir, given.command ?? "up"));
    await untilOthersEnded(layout.workDir);
    await portsFree(layout.ports, (options.replicas?.console ?? 0) > 0);
    stop.throwIfAborted();
    for (const { name, nearest } of unknownSettings(options.settings))
      given.onProgress(`${name} has no effect: it is a setting of no service${nearest ? `; ${nearest} is one` : ""}`);
    await given.prepare?.();
    const running: RunningService[] = [];
    const record = openRunning(layout);
    // Each process of a service has one of its own.
    if (options.embedded)
      owned.use(startWatchdog({ service: "flotilla", ...parseSettings(watchdogSettings, options.settings) }));
    const onEvent = (event: SupervisionEvent) => {
      record.write(running);
      given.onEvent?.(event);
    };
    const { shared, servers } = await openShared({ ...given, layout, onEvent, stop }, owned);
    const { instances, fronts } = await planInstances(layout, options.replicas ?? {});
    for (const front of fronts) owned.use(await startBalancer(front));
    for (const instance of instances) {
      stop.throwIfAborted();
      running.push(owned.use(await startService(instance, { ...given, layout, shared, instances, onEvent })));
    }
    owned.use(record).write(running);
    const parts = [...running, ...Object.values(servers)].map(({ supervised }) => supervised.ended);
    const ended = Promise.race<never>(parts);
    ended.catch(() => undefined);
    return {
      ...{ layout, services: running, shared, servers, startedAtMs, ended },
      environment: (name) => environmentOf(firstOf(name, instances), options, layout.workDir, shared),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

function prepareDirectory(layout: Layout): void {
  const place = paths(layout);
  makeDirectory(layout.workDir);
  mkdirSync(place.logs, { recursive: true });
  mkdirSync(place.compiledCode, { recursive: true, mode: 0o700 });
  if (!existsSync(place.sealKey)) writeFileSync(place.sealKey, randomBytes(32), { mode: 0o600 });
}

/** Where a file system is read-only, Node reports that parents are missing: the first missing one has the true reason. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    let missing = path;
    while (!existsSync(dirname(missing))) missing = dirname(missing);
    mkdirSync(missing, { mode: 0o700 });
    throw error;
  }
}

/** The last control plane of this directory may have been killed a moment ago. */
async function untilOthersEnded(workDir: string): Promise<void> {
  const left = readRunning(workDir)?.services ?? [];
  const remaining = await Promise.all(
    left.map(async ({ name, pid }) => {
      const facts = pid === undefined || pid === process.pid ? undefined : await factsOf(pid);
      // Another process may have the number by now.
      return facts?.commandLine.includes(name) ? [facts.pid] : [];
    }),
  );
  const pids = remaining.flat();
  await until(() => !pids.some(isAlive), {
    withinMs: endWithinMs,
    what: `processes ${pids.join(", ")} of the control plane that ran in ${workDir} before to end`,
  }).catch((cause: Error) => {
    throw new CliError("CLI_IN_USE", cause.message, { cause });
  });
}

interface ServiceOptions extends Pick<StartControlPlaneOptions, "options" | "logs"> {
  readonly layout: Layout;
  readonly shared: Shared;
  readonly instances: readonly Instance[];
  readonly onEvent: (event: SupervisionEvent) => void;
}

async function startService(
  instance: Instance,
  { options, logs, layout, shared, instances, onEvent }: ServiceOptions,
): Promise<RunningService> {
  const { name, replica, ports } = instance;
  const own = environmentOf(instance, options, layout.workDir, shared);
  const env = name === "console" ? { ...own, ...consoleSettings(instances) } : own;
  const healthUrl = `http://127.0.0.1:${healthPort(name, ports)}`;
  const { logs: logDir, compiledCode: compiledCodeDir } = paths(layout);
  const logFile = logs === "files" ? join(logDir, `${replica}.log`) : undefined;
  const start = async () =>
    options.embedded
      ? startInProcess({ name, env, healthUrl })
      : startChild({ name, env, healthUrl, logFile, compiledCodeDir });
  const supervised = new Supervised({ name: replica, first: await start(), start, onEvent });
  return runningService({ name, replica, healthUrl, ports, supervised });
}

function firstOf(name: ServiceName, instances: readonly Instance[]): Instance {
  const found = instances.find((instance) => instance.name === name);
  if (found === undefined) throw new Error(`${name} is no service of a control plane`);
  return found;
}
