/** A service as a process, of this version or of another one that is checked out elsewhere. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ControlPlane, healthOf, paths } from "@flotilla/cli/testing";
import { memoryEnvironment, until } from "@flotilla/runtime";
import { programFile } from "@flotilla/testkit/program-file";
import { root as ownRoot } from "../local/flotilla.ts";

/** Of the log of a service that does not start. */
const shownLines = 12;

export type ServiceName = ControlPlane["services"][number]["name"];

export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  /** Sends SIGTERM. Resolves to the exit code, or to the signal that ended it. */
  stop(): Promise<number | NodeJS.Signals | null>;
}

export interface ServiceProcessOptions {
  readonly name: ServiceName;
  /** Of the repository whose code runs. */
  readonly root: string;
  readonly plane: Pick<ControlPlane, "layout" | "environment">;
  readonly healthUrl: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Of its log file. */
  readonly label: string;
}

/** Resolves when it is ready. */
export async function startService(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const { name, root, plane, healthUrl, env = {}, label } = options;
  const logFile = join(paths(plane.layout).logs, `${label}.log`);
  const log = openSync(logFile, "a");
  const { NODE_COMPILE_CACHE: compiled } = process.env;
  const program =
    root === ownRoot ? programFile(`services/${name}/bin/main`) : join(root, `services/${name}/bin/main.ts`);
  const child = spawn(process.execPath, [program], {
    cwd: root,
    env: {
      ...memoryEnvironment,
      ...(compiled !== undefined && { NODE_COMPILE_CACHE: compiled }),
      ...plane.environment(name),
      ...env,
    },
    // It ends when its channel closes, so that none outlives the test.
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  const exited = once(child, "exit").then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals | null);
  const started: ServiceProcess = {
    pid: child.pid ?? 0,
    stop: async () => {
      if (isRunning(child)) child.kill("SIGTERM");
      return exited;
    },
    [Symbol.asyncDispose]: async () => {
      if (isRunning(child)) child.kill("SIGKILL");
      await exited;
    },
  };
  const isReady = async () => {
    if (!isRunning(child)) throw new Error(`${label} ended with ${child.exitCode ?? child.signalCode}`);
    return (await healthOf({ healthUrl, pid: child.pid })).state === "ready";
  };
  try {
    await until(isReady, { withinMs: 90_000, what: `${label} to be ready`, everyMs: 50 });
    return started;
  } catch (error) {
    await started[Symbol.asyncDispose]();
    const lastLines = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-shownLines).join("\n");
    throw new Error(`${label} does not start:\n${lastLines}`, { cause: error });
  }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
