/** A proxy as a process, with small programs in its place. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { isAlive } from "../supervise/processes.ts";
import { type ProxyProcessOptions, startProxyProcess } from "./proxy-process.ts";

const directory = realpathSync(mkdtempSync(join(tmpdir(), "flotilla-proxy-")));
after(() => rmSync(directory, { recursive: true }));
const logFile = join(directory, "envoy.log");
const runs = "console.log('runs'); setInterval(() => {}, 1000);";

function start(program: string, more: Partial<ProxyProcessOptions> = {}) {
  const args = ["-e", program];
  return startProxyProcess({
    ...{ program: process.execPath, args, directory, env: { A: "1" }, logFile, readyUrl: "http://127.0.0.1:1" },
    ...more,
  });
}

describe("a proxy's process", () => {
  it("runs in its directory with its environment, and adds to its log", async () => {
    writeFileSync(logFile, "before\n");
    const { exited } = await start("console.log(process.cwd(), process.env.A); console.error('bad'); process.exit(3)");
    assert.equal(await exited, `exit code 3; log: ${logFile}`);
    assert.equal(readFileSync(logFile, "utf8"), `before\n${directory} 1\nbad\n`);
  });

  it("ends when it is asked, by force when it is killed, and need not run for that", async () => {
    for (const [how, signal] of [
      ["stop", "SIGTERM"],
      ["kill", "SIGKILL"],
    ] as const) {
      const run = await start(runs);
      assert.equal(isAlive(run.pid ?? 0), true);
      await run[how]();
      assert.equal(await run.exited, `signal ${signal}; log: ${logFile}`);
      assert.equal(isAlive(run.pid ?? 0), false);
      await run[how]();
    }
  });

  it("has the time to end in its own order", async () => {
    writeFileSync(logFile, "");
    const run = await start(`process.on('SIGTERM', () => { console.log('drained'); process.exit(0); }); ${runs}`);
    await until(() => readFileSync(logFile, "utf8") !== "", { withinMs: 30_000, what: "the program to run" });
    await run.stop();
    assert.equal(await run.exited, `exit code 0; log: ${logFile}`);
    assert.match(readFileSync(logFile, "utf8"), /drained/);
  });

  it("is ready when its page answers 200", async () => {
    let status = 503;
    const page = createServer((_, response) => void response.writeHead(status).end());
    await once(page.listen(0, "127.0.0.1"), "listening");
    const readyUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}/ready`;
    const run = await start(runs, { readyUrl });
    const before = await run.isReady();
    status = 200;
    const now = await run.isReady();
    page.closeAllConnections();
    page.close();
    await once(page, "close");
    assert.deepEqual([before, now, await run.isReady()], [false, true, false]);
    await run.kill();
  });

  it("names a program that cannot be started", async () => {
    await assert.rejects(start("", { program: join(directory, "none") }), {
      code: "CLI_FAILED",
      message: /none cannot be started: .*ENOENT/,
    });
  });
});
