/** The whole control plane on one host: five processes with real NATS and Redis, or all in this one. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { delay } from "@flotilla/runtime";
import { type RunningServer, startNats, startRedis } from "@flotilla/servers";
import { environmentOf, type Shared } from "../environment.ts";
import { CliError } from "../errors.ts";
import { healthPort, type Layout, paths, portsFrom, type ServiceName, services } from "../layout.ts";
import type { RunOptions } from "../options.ts";
import { type RunningService, startChild } from "./child-service.ts";
import { healthOf } from "./health.ts";
import { startInProcess } from "./in-process.ts";
import { nobodyElse } from "./nobody-else.ts";

export interface ControlPlane extends AsyncDisposable {
  readonly layout: Layout;
  readonly services: readonly RunningService[];
  readonly shared: Shared;
  /** The servers that were started for it; none when it is embedded or was given their addresses. */
  readonly servers: Servers;
  /** The settings a service was started with. */
  environment(service: ServiceName): Readonly<Record<string, string>>;
  readonly startedAtMs: number;
  /** Rejects when a service ends by itself. */
  readonly ended: Promise<never>;
}

export interface Servers {
  readonly nats?: RunningServer;
  readonly redis?: RunningServer;
}

export interface StartControlPlaneOptions {
  readonly options: RunOptions;
  /** Logs of the services: files in the work directory, or this process's output. */
  readonly logs: "files" | "output";
  readonly onProgress: (text: string) => void;
}

/** Resolves when everything is started, not yet ready. */
export async function startControlPlane({
  options,
  logs,
  onProgress,
}: StartControlPlaneOptions): Promise<ControlPlane> {
  const layout: Layout = { workDir: options.workDir, ports: portsFrom(options.firstPort) };
  const place = paths(layout);
  mkdirSync(layout.workDir, { recursive: true, mode: 0o700 });
  mkdirSync(place.logs, { recursive: true });
  if (!existsSync(place.sealKey)) writeFileSync(place.sealKey, randomBytes(32), { mode: 0o600 });
  const startedAtMs = Date.now();
  const owned = new AsyncDisposableStack();
  try {
    if (!options.embedded) await nobodyElse(layout);
    const { shared, servers } = await openShared(options, layout, owned, onProgress);
    const environment = (name: ServiceName) => environmentOf(name, options, layout, shared);
    const running: RunningService[] = [];
    for (const name of services) {
      const env = environment(name);
      const healthUrl = `http://127.0.0.1:${healthPort(name, layout.ports)}`;
      const logFile = logs === "files" ? join(place.logs, `${name}.log`) : undefined;
      const service = options.embedded
        ? await startInProcess({ name, env, healthUrl })
        : startChild({ name, env, healthUrl, logFile });
      running.push(owned.use(service));
    }
    writeFileSync(
      place.state,
      JSON.stringify({
        pid: process.pid,
        services: running.map(({ name, healthUrl, pid }) => ({ name, healthUrl, pid })),
        ports: layout.ports,
      }),
    );
    owned.defer(() => rmSync(place.state, { force: true }));
    const ended = Promise.race(running.map((service) => service.ended));
    ended.catch(() => {});
    return {
      layout,
      services: running,
      shared,
      servers,
      environment,
      startedAtMs,
      ended,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

/** Addresses that are given by settings are used as they are. */
async function openShared(
  { embedded, settings }: RunOptions,
  layout: Layout,
  owned: AsyncDisposableStack,
  onProgress: (text: string) => void,
): Promise<{ readonly shared: Shared; readonly servers: Servers }> {
  if (embedded)
    return { shared: { busUrl: `embedded:${layout.workDir}`, storeUrl: `embedded:${layout.workDir}` }, servers: {} };
  const find = { env: settings, directory: paths(layout).servers, onProgress };
  const nats = settings["BUS_URL"] === undefined ? owned.use(await startNats(find)) : undefined;
  const redis = settings["STORE_URL"] === undefined ? owned.use(await startRedis(find)) : undefined;
  const shared = {
    busUrl: settings["BUS_URL"] ?? nats?.url ?? "",
    storeUrl: settings["STORE_URL"] ?? redis?.url ?? "",
  };
  return { shared, servers: { ...(nats && { nats }), ...(redis && { redis }) } };
}

/** Resolves when every service is ready. @throws CliError CLI_SERVICE_ENDED naming those that are not */
export async function allReady(
  { services: running, ended }: ControlPlane,
  withinMs: number,
  onPoll: () => void,
  stop: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!stop.aborted) {
    const states = await Promise.race([Promise.all(running.map(healthOf)), ended]);
    onPoll();
    if (states.every(({ state }) => state === "ready")) return;
    if (performance.now() > deadline) {
      const late = running
        .filter((_, i) => states[i]?.state !== "ready")
        .map(({ name }, i) => `${name} (${states[i]?.detail || states[i]?.state})`);
      throw new CliError("CLI_SERVICE_ENDED", `not ready after ${withinMs / 1000} s: ${late.join(", ")}`);
    }
    await delay(100, stop);
  }
}
