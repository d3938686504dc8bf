/** One control plane at a time in a work directory: a file with the process that has it, void when that process has ended. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import { factsOf } from "./processes.ts";

interface Holder {
  readonly pid: number;
  /** Empty where it cannot be found out. */
  readonly startedAt: string;
  /** The command of `flotilla` that runs: `up`. */
  readonly command: string;
}

const attempts = 3;

/** @throws CliError CLI_IN_USE naming the process that has it */
export async function lockWorkDir(workDir: string, command: string): Promise<Disposable> {
  const file = join(workDir, "flotilla.lock");
  const own: Holder = { pid: process.pid, startedAt: (await factsOf(process.pid))?.startedAt ?? "", command };
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (create(file, own)) return { [Symbol.dispose]: () => release(file, own) };
    const holder = read(file);
    if (holder !== undefined && (await isRunning(holder))) throw inUse(workDir, holder);
    if (holder !== undefined) discard(file, holder);
  }
  throw new CliError("CLI_IN_USE", `another process takes ${workDir} at this moment: try again`);
}

function inUse(workDir: string, { pid, command }: Holder): CliError {
  const what = `flotilla ${command} (process ${pid}) runs in the work directory ${workDir}`;
  return new CliError("CLI_IN_USE", `${what}: end it, or choose another directory with --work-dir DIR --xds-port PORT`);
}

async function isRunning({ pid, startedAt }: Holder): Promise<boolean> {
  const facts = await factsOf(pid);
  return facts !== undefined && (startedAt === "" || facts.startedAt === startedAt);
}

/** False when there is one. */
function create(file: string, holder: Holder): boolean {
  try {
    writeFileSync(file, `${JSON.stringify(holder)}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Undefined when there is none any more. */
function read(file: string): Holder | undefined {
  try {
    const { pid = 0, startedAt = "", command = "" } = JSON.parse(readFileSync(file, "utf8")) as Partial<Holder>;
    return { pid, startedAt, command };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    // Cut off by a crash of the machine: it has no owner.
    if (error instanceof SyntaxError) return { pid: 0, startedAt: "", command: "" };
    throw error;
  }
}

/** Moved away first: of two that find it void, one gets it, and a new one in its place is put back. */
function discard(file: string, seen: Holder): void {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  const moved = read(aside);
  if (moved !== undefined && moved.pid !== seen.pid) renameSync(aside, file);
  else rmSync(aside, { force: true });
}

function release(file: string, own: Holder): void {
  if (read(file)?.pid === own.pid) rmSync(file, { force: true });
}
