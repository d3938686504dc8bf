/** Pages of docs/ as a reader would type them: the commands of several pages in one shell, from top to bottom, with ports that are free. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, freePorts } from "@flotilla/servers";
import { program } from "../local/flotilla.ts";

const docs = fileURLToPath(new URL("../../../../docs/", import.meta.url));

/** Blocks of commands of a page, those left out that are marked as not run. */
export function commandBlocks(page: string): readonly string[] {
  const text = readFileSync(join(docs, page), "utf8").replaceAll(/<!-- not run: [^>]*-->\n```.*?^```$/gms, "");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}

export interface ShellResult {
  readonly code: number | null;
  /** Of both streams, with each command before its output. */
  readonly output: string;
  /** Of the background programs, for a failure's message. */
  readonly logs: string;
}

/** @param ports that the pages name, each replaced by a free one */
export async function runInShell(
  blocks: readonly string[],
  ports: readonly string[],
  withinMs: number,
): Promise<ShellResult> {
  // Short: sockets of proxies stand below it.
  const directory = mkdtempSync(join(tmpdir(), "gs-"));
  try {
    await installCommand(directory);
    const free = await Promise.all(ports.map(async (port) => [port, await freePort()] as const));
    const script = free.reduce((text, [port, other]) => text.replaceAll(port, String(other)), blocks.join("\n"));
    const env = {
      ...process.env,
      PATH: `${directory}:${process.env["PATH"]}`,
      FLOTILLA_WORK_DIR: join(directory, "work"),
    };
    // In a group of its own, so that nothing of it outlives the test.
    const shell = spawn("bash", ["-xeuo", "pipefail", "-c", script], { cwd: directory, env, detached: true });
    let output = "";
    for (const stream of [shell.stdout, shell.stderr])
      stream.on("data", (chunk) => {
        output += String(chunk);
      });
    const timer = setTimeout(() => shell.pid !== undefined && process.kill(-shell.pid, "SIGTERM"), withinMs);
    const [code] = (await once(shell, "exit")) as [number | null];
    clearTimeout(timer);
    if (code !== 0 && shell.pid !== undefined) endGroup(shell.pid);
    const files = ["serve.log", "web.log", "door.log"].map((name) => join(directory, name)).filter(existsSync);
    return { code, output, logs: files.map((file) => readFileSync(file, "utf8")).join("\n") };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** `flotilla` as it is installed, but for the ports of `serve`. */
async function installCommand(directory: string): Promise<void> {
  const command = `"${process.execPath}" -- "${program}"`;
  const ports = `case "$1" in serve) shift; set -- serve --xds-port ${await freePorts(12)} "$@" ;; esac`;
  const file = join(directory, "flotilla");
  writeFileSync(file, `#!/bin/sh\n${ports}\nexec ${command} "$@"\n`);
  chmodSync(file, 0o755);
}

/** A script that failed half-way leaves its background programs. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGTERM");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
