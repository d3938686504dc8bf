import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { lockWorkDir } from "./work-dir-lock.ts";

describe("the lock of a work directory", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-lock-"));
  const file = join(workDir, "flotilla.lock");
  after(() => rmSync(workDir, { recursive: true, force: true }));

  it("is refused while its holder runs, with its command and process", async () => {
    const lock = await lockWorkDir(workDir, "demo");
    await assert.rejects(lockWorkDir(workDir, "up"), {
      code: "CLI_IN_USE",
      message: new RegExp(`flotilla demo \\(process ${process.pid}\\) runs in .*--work-dir DIR --xds-port PORT`),
    });
    lock[Symbol.dispose]();
    assert.ok(!existsSync(file));
    (await lockWorkDir(workDir, "up"))[Symbol.dispose]();
  });

  it("is void when its holder has ended, when another process has its number, and when it is cut off", async () => {
    const child = spawn("/bin/true");
    await once(child, "exit");
    const ended = JSON.stringify({ pid: child.pid, startedAt: "1", command: "up" });
    const reused = JSON.stringify({ pid: process.pid, startedAt: "before", command: "up" });
    for (const left of [ended, reused, '{"pid":']) {
      writeFileSync(file, left);
      using _lock = await lockWorkDir(workDir, "up");
      assert.match(readFileSync(file, "utf8"), new RegExp(`"pid":${process.pid},`));
    }
  });
});
