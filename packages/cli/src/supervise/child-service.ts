/** One service as a child process: its log in a file, its end noticed, its health asked. */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { memoryEnvironment } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import type { ServiceName } from "../layout.ts";

export interface RunningService extends AsyncDisposable {
  readonly name: ServiceName;
  /** Undefined for a service within this process. */
  readonly pid: number | undefined;
  readonly healthUrl: string;
  /** Rejects when the service ends before it was told to. */
  readonly ended: Promise<never>;
}

export interface ChildOptions {
  readonly name: ServiceName;
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
  /** A file, or this process's own output. */
  readonly logFile: string | undefined;
}

const stopWithinMs = 8_000;

export function startChild({ name, env, healthUrl, logFile }: ChildOptions): RunningService {
  const script = fileURLToPath(new URL(`../../../../services/${name}/bin/main.ts`, import.meta.url));
  const output = logFile === undefined ? "inherit" : openSync(logFile, "a");
  const child = spawn(process.execPath, [script], {
    env: { ...memoryEnvironment, ...env },
    // The channel carries nothing: a service ends when it closes, so that none outlives a process that was killed.
    stdio: ["ignore", output, output, "ipc"],
  });
  if (typeof output === "number") closeSync(output);
  let isStopping = false;
  const exit = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  const ended = exit.then((how) => {
    if (isStopping) return new Promise<never>(() => {});
    const where = logFile === undefined ? "" : `; its log ${logFile} ends with: ${lastLine(logFile)}`;
    throw new CliError("CLI_SERVICE_ENDED", `${name} ended by itself (${how})${where}`);
  });
  // Whoever waits sees it; nobody waiting is no reason to end this process.
  ended.catch(() => {});
  return {
    name,
    pid: child.pid,
    healthUrl,
    ended,
    [Symbol.asyncDispose]: async () => {
      isStopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopWithinMs);
      await exit;
      clearTimeout(timer);
    },
  };
}

function lastLine(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").at(-1) ?? "";
}
