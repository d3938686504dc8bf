/** The control plane that runs with a work directory: what `up` and `serve` leave there for other commands. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { CliError } from "./errors.ts";
import { type Layout, type Ports, paths } from "./layout.ts";
import type { RunningService } from "./supervise/running-service.ts";

/** One replica of a service. */
export interface RunningReplica {
  readonly name: string;
  readonly replica: string;
  readonly healthUrl: string;
  /** The process that answers at `healthUrl`; absent while it is started again. */
  readonly pid?: number;
  readonly restarts: number;
}

export interface Running {
  /** The process that keeps the services running. */
  readonly pid: number;
  readonly services: readonly RunningReplica[];
  readonly ports: Ports;
}

/** Undefined when no control plane left a record. */
export function readRunning(workDir: string): Running | undefined {
  try {
    return JSON.parse(readFileSync(paths({ workDir }).state, "utf8")) as Running;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export interface RunningRecord extends Disposable {
  /** Anew and whole; nothing once it is disposed of, which takes the record away. */
  write(services: readonly RunningService[]): void;
}

export function openRunning(layout: Layout): RunningRecord {
  const { state } = paths(layout);
  let isOver = false;
  return {
    write: (services) => {
      if (isOver) return;
      const running: Running = { pid: process.pid, services: services.map(replicaOf), ports: layout.ports };
      writeFileSync(`${state}.new`, JSON.stringify(running));
      renameSync(`${state}.new`, state);
    },
    [Symbol.dispose]: () => {
      isOver = true;
      rmSync(state, { force: true });
    },
  };
}

function replicaOf({ name, replica, healthUrl, pid, supervised }: RunningService): RunningReplica {
  const answering = supervised.run === undefined ? undefined : (pid ?? process.pid);
  const { restarts } = supervised;
  return { name, replica, healthUrl, ...(answering !== undefined && { pid: answering }), restarts };
}

/** @throws CliError CLI_NOT_RUNNING */
export function runningIn(workDir: string): Running {
  const running = readRunning(workDir);
  if (running === undefined)
    throw new CliError(
      "CLI_NOT_RUNNING",
      `no control plane runs with the work directory ${workDir}: start one with \`flotilla up\`, or name another by --work-dir, --url or --context`,
    );
  return running;
}

/** Where the replicas of a service answer questions about themselves. @throws CliError CLI_NOT_RUNNING */
function healthUrlsOf(name: string, workDir: string): readonly [string, ...string[]] {
  const [first, ...others] = runningIn(workDir)
    .services.filter((service) => service.name === name)
    .map(({ healthUrl }) => healthUrl);
  if (first === undefined) throw new CliError("CLI_NOT_RUNNING", `no ${name} runs with the work directory ${workDir}`);
  return [first, ...others];
}

/** The first of them. @throws CliError CLI_NOT_RUNNING */
export function healthUrlOf(name: string, workDir: string): string {
  return healthUrlsOf(name, workDir)[0];
}
