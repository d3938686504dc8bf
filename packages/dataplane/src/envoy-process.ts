/** A real Envoy as a child process, with what its admin page reports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@flotilla/proto";
import { until } from "@flotilla/runtime";

export interface EnvoyOptions {
  readonly binary: string;
  /** For its bootstrap, log and admin address. */
  readonly directory: string;
  readonly name: string;
  readonly bootstrap: JsonObject;
  /** Rules that redirect connections recognize the proxy's own by its group. Needs root. */
  readonly groupId?: number;
}

export interface Envoy extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly adminUrl: string;
  readonly logFile: string;
  /** Counters and gauges whose name matches, by name. */
  stats(filter: RegExp): Promise<ReadonlyMap<string, number>>;
  configDump(): Promise<JsonObject>;
  /** Resolves when Envoy has taken its first configuration and serves. @throws when it does not within the time. */
  ready(withinMs: number): Promise<void>;
}

/** @throws Error with the end of the log when Envoy does not open its admin page. */
export async function startEnvoy({ binary, directory, name, bootstrap, groupId }: EnvoyOptions): Promise<Envoy> {
  await mkdir(directory, { recursive: true });
  const file = (suffix: string) => join(directory, `${name}.${suffix}`);
  writeFileSync(file("json"), JSON.stringify(bootstrap, undefined, 1));
  // The one of an earlier process of this name: its address answers no more, or is somebody else's.
  await rm(file("admin"), { force: true });
  const log = openSync(file("log"), "w");
  // Hot restarts need shared memory, which stays when an Envoy is killed, and which Envoys of another user cannot open.
  const args = ["-c", file("json"), "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"];
  const drain = ["--drain-time-s", "1", "--drain-strategy", "immediate", "--admin-address-path", file("admin")];
  const child = spawn(binary, [...args, ...drain], {
    stdio: ["ignore", log, log],
    ...(groupId !== undefined && { gid: groupId }),
  });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) {
    const [cause] = await once(child, "error");
    throw new Error(`[DATAPLANE_ENVOY] cannot start ${binary} as ${name}`, { cause });
  }
  const logFile = file("log");
  const adminUrl = await adminAddress(child, name, file("admin"), logFile);
  const get = async (path: string) => (await fetch(`${adminUrl}${path}`)).text();
  return {
    name,
    pid,
    adminUrl,
    logFile,
    stats: async (filter) => parseStats(await get(`/stats?usedonly&filter=${encodeURIComponent(filter.source)}`)),
    configDump: async () => JSON.parse(await get("/config_dump?include_eds")) as JsonObject,
    ready: async (withinMs) => {
      await until(async () => (await fetch(`${adminUrl}/ready`)).status === 200, {
        withinMs,
        what: `Envoy ${name} to be ready (log: ${logFile})`,
      });
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}

async function adminAddress(child: ChildProcess, name: string, path: string, logFile: string): Promise<string> {
  const read = () => {
    // Returned, as a thrown one would be tried again.
    const end = child.signalCode ?? child.exitCode;
    if (end !== null) return new Error(`[DATAPLANE_ENVOY] ${name} ended with ${end}: ${tail(logFile)}`);
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      // Not written yet.
      return "";
    }
  };
  const what = `the admin page of Envoy ${name} (log: ${logFile})`;
  const found = await until(() => read() || undefined, { withinMs: 20_000, what });
  if (found instanceof Error) throw found;
  return `http://${found}`;
}

function tail(file: string): string {
  return readFileSync(file, "utf8").slice(-2000);
}

function parseStats(text: string): ReadonlyMap<string, number> {
  const lines = text.split("\n").map((line) => /^(\S+): (\d+)$/.exec(line));
  return new Map(lines.flatMap((found) => (found === null ? [] : [[found[1] ?? "", Number(found[2])]])));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 3_000);
  await ended;
  clearTimeout(timer);
}
