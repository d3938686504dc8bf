/** Facts about processes of this host: from /proc on Linux, from ps and lsof elsewhere. */
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  /** Differs between two processes that had the same number one after the other. */
  readonly startedAt: string;
  readonly commandLine: string;
}

/** Undefined when there is no such process, or none that can be looked at. */
export async function factsOf(pid: number, platform = process.platform): Promise<ProcessFacts | undefined> {
  try {
    return platform === "linux" ? await fromProc(pid) : await fromPs(pid);
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // There is one, of another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The process that listens on a TCP port of this host; undefined when it cannot be found out. */
export async function listenerOn(port: number, platform = process.platform): Promise<number | undefined> {
  try {
    if (platform === "linux") return await listenerFromProc(port);
    const { stdout } = await run("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fp"]);
    const found = /^p(\d+)/m.exec(stdout);
    return found === null ? undefined : Number(found[1]);
  } catch {
    return undefined;
  }
}

async function fromProc(pid: number): Promise<ProcessFacts> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The program's name stands in parentheses and may have spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const commandLine = (await readFile(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ").trim();
  return { pid, parent: Number(fields[1]), startedAt: fields[19] ?? "", commandLine };
}

async function fromPs(pid: number): Promise<ProcessFacts> {
  const { stdout } = await run("ps", ["-ww", "-o", "ppid=,lstart=,args=", "-p", String(pid)]);
  const found = /^\s*(\d+)\s+(\S+ +\S+ +\d+ +[\d:]+ +\d+)\s+(.*)$/m.exec(stdout);
  if (found === null) throw new Error(`ps shows no process ${pid}`);
  const [, parent = "", startedAt = "", commandLine = ""] = found;
  return { pid, parent: Number(parent), startedAt, commandLine };
}

const listenState = "0A";

async function listenerFromProc(port: number): Promise<number | undefined> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  );
  const rows = tables.flatMap((table) => table.split("\n")).map((line) => line.trim().split(/\s+/));
  const inode = rows.find(([, local, , state]) => local?.endsWith(`:${hexPort}`) && state === listenState)?.[9];
  if (inode === undefined) return undefined;
  for (const entry of await readdir("/proc")) {
    if (/^\d+$/.test(entry) && (await hasSocket(entry, `socket:[${inode}]`))) return Number(entry);
  }
  return undefined;
}

async function hasSocket(pid: string, wanted: string): Promise<boolean> {
  try {
    const descriptors = await readdir(`/proc/${pid}/fd`);
    const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => "")));
    return links.includes(wanted);
  } catch {
    // Another user's process, or one that just ended.
    return false;
  }
}
