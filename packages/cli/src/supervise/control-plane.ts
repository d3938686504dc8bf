/** The whole control plane on one host: five processes with real NATS and Redis, or all in this one. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { delay } from "@flotilla/runtime";
import { startNats, startRedis } from "@flotilla/servers";
import { environmentOf, type Shared } from "../environment.ts";
import { CliError } from "../errors.ts";
import { healthPort, type Layout, paths, portsFrom, services } from "../layout.ts";
import type { RunOptions } from "../options.ts";
import { type RunningService, startChild } from "./child-service.ts";
import { healthOf } from "./health.ts";
import { startInProcess } from "./in-process.ts";

export interface ControlPlane extends AsyncDisposable {
  readonly layout: Layout;
  readonly services: readonly RunningService[];
  /** Where NATS and Redis are, for people. */
  readonly shared: Shared;
  readonly startedAtMs: number;
  /** Rejects when a service ends by itself. */
  readonly ended: Promise<never>;
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
    const shared = await openShared(options, layout, owned, onProgress);
    const running: RunningService[] = [];
    for (const name of services) {
      const env = environmentOf(name, options, layout, shared);
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
    return { layout, services: running, shared, startedAtMs, ended, [Symbol.asyncDispose]: () => owned.disposeAsync() };
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
): Promise<Shared> {
  if (embedded) return { busUrl: `embedded:${layout.workDir}`, storeUrl: `embedded:${layout.workDir}` };
  const directory = paths(layout).servers;
  const find = { env: settings, directory, onProgress };
  const busUrl = settings["BUS_URL"] ?? owned.use(await startNats(find)).url;
  const storeUrl = settings["STORE_URL"] ?? owned.use(await startRedis(find)).url;
  return { busUrl, storeUrl };
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
