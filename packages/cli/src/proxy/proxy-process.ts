/** One run of a proxy as a process: its log in a file, its end noticed; it ends with this process, whatever ends that. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { endGroup, endWithThisProcess } from "@flotilla/servers";
import { CliError } from "../errors.ts";
import type { Run } from "../supervise/supervised.ts";

export interface ProxyProcessOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Appended to. */
  readonly logFile: string;
  /** Answers 200 when the proxy serves. */
  readonly readyUrl: string;
}

const stopWithinMs = 8_000;

/** @throws CliError CLI_FAILED when the program cannot be started */
export async function startProxyProcess(options: ProxyProcessOptions): Promise<Run> {
  const { program, args, directory, env, logFile, readyUrl } = options;
  const log = openSync(logFile, "a");
  // A group of its own: a Ctrl-C reaches it in our order, and an agent's Envoy with it.
  const child = spawn(program, args, { cwd: directory, env, stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  const { promise: exited, resolve } = Promise.withResolvers<string>();
  child.once("exit", (code, signal) => {
    resolve(`${signal === null ? `exit code ${code}` : `signal ${signal}`}; log: ${logFile}`);
  });
  const failed = new Promise<Error>((found) => child.once("error", found));
  const { pid } = child;
  if (pid === undefined) throw new CliError("CLI_FAILED", `${program} cannot be started: ${(await failed).message}`);
  const forget = endWithThisProcess(pid);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    // One that has ended takes no signal.
    child.kill(signal);
    const timer = setTimeout(() => endGroup(pid, "SIGKILL"), stopWithinMs);
    await exited;
    clearTimeout(timer);
  };
  void exited.then(forget);
  return {
    pid,
    exited,
    isReady: () =>
      fetch(readyUrl, { signal: AbortSignal.timeout(2_000) }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}
