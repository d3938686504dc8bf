/** A control plane that `flotilla serve` or `up` runs as a process, and questions about it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { healthOf, isAlive, type Running, readRunning } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { programFile } from "@flotilla/testkit/program-file";

export const root = fileURLToPath(new URL("../../../../", import.meta.url));
export const program = programFile("packages/cli/bin/flotilla");

/** Long enough for a machine that many tests share. */
const startMs = 150_000;

export interface Launched extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly workDir: string;
  readonly firstPort: number;
  /** Of both streams so far. */
  output(): string;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  running(): Running | undefined;
  /** Every service is ready. */
  ready(): Promise<void>;
}

export interface LaunchOptions {
  /** Command line without `--work-dir` and `--xds-port`, from the program on. */
  readonly command: readonly string[];
  readonly args?: readonly string[];
  /** Beside those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export async function launch({ command, args = [], env = {} }: LaunchOptions): Promise<Launched> {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-local-"));
  const firstPort = await freePorts(12);
  const [file = "", ...rest] = command;
  const child = spawn(file, [...rest, "--work-dir", workDir, "--xds-port", String(firstPort), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = once(child, "exit").then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals | null);
  const running = () => readRunning(workDir);
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${output}`);
    const services = running()?.services ?? [];
    const states = await Promise.all(services.map(healthOf));
    return states.length > 0 && states.every(({ state }) => state === "ready");
  };
  return {
    ...{ child, workDir, firstPort, ended, running },
    output: () => output,
    ready: async () =>
      void (await until(isReady, { withinMs: startMs, what: "every service to be ready", everyMs: 200 })),
    [Symbol.asyncDispose]: async () => {
      const pid = running()?.pid;
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      // Its supervised processes end with it.
      if (pid !== undefined && pid !== child.pid && isAlive(pid)) process.kill(pid, "SIGKILL");
      await ended;
      await nothingLeft(workDir);
      rmSync(workDir, { recursive: true, force: true });
    },
  };
}

/** Resolves when no service, NATS or Redis of the work directory runs any more. */
export async function nothingLeft(workDir: string): Promise<void> {
  const left = () => allPids(workDir).filter(isAlive);
  await until(() => left().length === 0, { withinMs: 60_000, what: `processes of ${workDir} to end`, everyMs: 50 });
}

/** Services and servers as they are recorded; records of those that ended in order are gone. */
export function allPids(workDir: string): readonly number[] {
  const services = (readRunning(workDir)?.services ?? []).flatMap(({ pid }) => pid ?? []);
  return [...services, ...["nats", "redis"].flatMap((name) => serverPid(workDir, name) ?? [])];
}

/** Undefined while it does not run. */
export function serverPid(workDir: string, name: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(workDir, "servers", `${name}.pid`), "utf8")) as { readonly pid: number }).pid;
  } catch {
    // Not started yet, or ended.
    return undefined;
  }
}
