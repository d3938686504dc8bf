/** A directory belongs to one process: servers that were left behind in it are ended, those of others are not. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { endGroup, endWithThisProcess, noteHolder, releaseDirectory, takeDirectory } from "./held-directory.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-held-"));
const started: ChildProcess[] = [];
after(() => {
  for (const { pid, exitCode, signalCode } of started)
    if (pid !== undefined && exitCode === null && signalCode === null) endGroup(pid, "SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

let count = 0;
const newDirectory = (): string => join(root, String(count++));

/** A process that waits, with the text among its arguments. */
async function start(text: string): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", text], {
    detached: true,
    stdio: "ignore",
  });
  started.push(child);
  await once(child, "spawn");
  return child as ChildProcess & { readonly pid: number };
}

const ended = (child: ChildProcess) =>
  child.exitCode === null && child.signalCode === null ? once(child, "exit") : Promise.resolve();
const hold = (directory: string, pid: number, owner: number) =>
  writeFileSync(join(directory, "nats.pid"), JSON.stringify({ pid, owner }));

/** None of a process that has ended meanwhile. */
function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

describe("a directory of a server", () => {
  it("is made, and free where no process is named or the file was cut off", async () => {
    const directory = newDirectory();
    await takeDirectory(directory, "nats");
    assert.ok(existsSync(directory));
    writeFileSync(join(directory, "nats.pid"), '{"pid":12');
    await takeDirectory(directory, "nats");
  });
  it("is free where the server is gone, or its number belongs to another process", async () => {
    const directory = newDirectory();
    await takeDirectory(directory, "nats");
    const other = await start("elsewhere");
    hold(directory, other.pid, 1);
    await takeDirectory(directory, "nats");
    assert.equal(other.exitCode, null);
    endGroup(other.pid, "SIGKILL");
    await ended(other);
    await takeDirectory(directory, "nats");
  });
  it("is refused while the process lives that started its server", async () => {
    const directory = newDirectory();
    await takeDirectory(directory, "nats");
    const [server, owner] = [await start(directory), await start("owner")];
    hold(directory, server.pid, owner.pid);
    await assert.rejects(takeDirectory(directory, "nats"), { code: "SERVER_BUSY" });
    assert.equal(server.signalCode, null);
    endGroup(owner.pid, "SIGKILL");
    await ended(owner);
    await Promise.all([takeDirectory(directory, "nats"), ended(server)]);
    assert.equal(server.signalCode, "SIGKILL");
  });
  it("is taken again by the process that has it, whose server ends", async () => {
    const directory = newDirectory();
    await takeDirectory(directory, "nats");
    const server = await start(directory);
    noteHolder(directory, "nats", server.pid);
    await Promise.all([takeDirectory(directory, "nats"), ended(server)]);
    assert.equal(server.signalCode, "SIGKILL");
  });
  it("is released by the server that holds it only", async () => {
    const directory = newDirectory();
    await takeDirectory(directory, "nats");
    noteHolder(directory, "nats", 7);
    releaseDirectory(directory, "nats", 8);
    assert.ok(existsSync(join(directory, "nats.pid")));
    releaseDirectory(directory, "nats", 7);
    assert.equal(existsSync(join(directory, "nats.pid")), false);
    releaseDirectory(directory, "nats", 7);
  });
  it("needs no watcher of its server any more where that has ended", { skip: !existsSync("/proc/self") }, async () => {
    const server = await start("watched");
    const isWatched = () =>
      readdirSync("/proc").some((entry) => /^\d+$/.test(entry) && argumentsOf(entry).endsWith(`\0sh\0${server.pid}\0`));
    const endWatcher = endWithThisProcess(server.pid);
    assert.ok(isWatched());
    endWatcher();
    await until(() => !isWatched(), { withinMs: 30_000, what: "the watcher to end" });
    assert.equal(server.signalCode, null);
  });
  it("is not disturbed by the end of a group that is gone", async () => {
    const gone = await start("gone");
    endGroup(gone.pid, "SIGKILL");
    await ended(gone);
    endGroup(gone.pid, "SIGTERM");
  });
});
