/**
 * A server lives as long as the process that started it, and its directory belongs to that process. A server that is left behind
 * nevertheless is ended by the next process that needs the directory.
 */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "@flotilla/runtime";
import { ServersError } from "./errors.ts";

interface Holder {
  readonly pid: number;
  /** The process that started it. */
  readonly owner: number;
}

const run = promisify(execFile);

/** @throws ServersError SERVER_BUSY when the process that started it still runs */
export async function takeDirectory(directory: string, name: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const holder = readHolder(directory, name);
  if (holder === undefined || !(await isServerOf(holder.pid, directory))) return;
  if (holder.owner !== process.pid && isAlive(holder.owner)) {
    const what = `${directory} is in use: process ${holder.owner} runs ${name} (process ${holder.pid}) in it`;
    throw new ServersError("SERVER_BUSY", what);
  }
  endGroup(holder.pid, "SIGKILL");
  await until(() => !isAlive(holder.pid), { withinMs: 5_000, what: `process ${holder.pid} to end` });
}

export function noteHolder(directory: string, name: string, pid: number): void {
  writeFileSync(fileOf(directory, name), JSON.stringify({ pid, owner: process.pid } satisfies Holder));
}

export function releaseDirectory(directory: string, name: string, pid: number): void {
  if (readHolder(directory, name)?.pid === pid) rmSync(fileOf(directory, name), { force: true });
}

/**
 * Ends a server when this process ends, however it ends: the watcher reads from a pipe that only this
 * process writes to. Returns what ends the watcher itself.
 */
export function endWithThisProcess(pid: number): () => void {
  const script = 'cat >/dev/null; kill -s TERM -- "-$1" 2>/dev/null';
  const watcher = spawn("/bin/sh", ["-c", script, "sh", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watcher.unref();
  (watcher.stdin as Socket).unref();
  return () => {
    if (watcher.pid !== undefined) endGroup(watcher.pid, "SIGKILL");
  };
}

/** A server started by us leads a group of its own, so that a Ctrl-C reaches it in our order only. */
export function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "ESRCH") throw error;
  }
}

function readHolder(directory: string, name: string): Holder | undefined {
  const file = fileOf(directory, name);
  if (!existsSync(file)) return undefined;
  const [pid = "", owner = ""] = [...readFileSync(file, "utf8").matchAll(/\d+/g)].map(([digits]) => digits);
  // A file that was cut off when the machine stopped names no process.
  return pid === "" || owner === "" ? undefined : { pid: Number(pid), owner: Number(owner) };
}

/** The number may belong to another process by now: only one that was given this directory is meant. */
async function isServerOf(pid: number, directory: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  try {
    const { stdout } = await run("ps", ["-ww", "-o", "args=", "-p", String(pid)]);
    return stdout.includes(directory);
  } catch {
    // No such process, or no `ps`: nothing that could be ended safely.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // No such process, or not ours.
    return false;
  }
}

function fileOf(directory: string, name: string): string {
  return join(directory, `${name}.pid`);
}
