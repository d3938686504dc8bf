/** Services as child processes, with small programs in their place: how their ends are reported. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { startChild } from "./child-service.ts";
import { fakePrograms } from "./fake-programs.fixture.ts";
import { isAlive } from "./processes.ts";

const programs = fakePrograms();
after(() => programs[Symbol.dispose]());
let files = 0;
const newLog = () => join(programs.directory, `${files++}.log`);

interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile?: string;
  readonly healthUrl?: string;
  readonly compiledCodeDir?: string;
}

function start(program: string, { env = {}, logFile = newLog(), ...given }: Given = {}) {
  programs.replace("ca", program);
  const settings = { ...programs.settings, ...env };
  return startChild({ name: "ca", env: settings, healthUrl: "http://127.0.0.1:1", logFile, ...given });
}

const waits = "setInterval(() => {}, 1000); process.on('disconnect', () => process.exit(0)); console.log('runs');";
const error = JSON.stringify({ level: "error", msg: "failed", error: { message: "disk full" } });

describe("the end of a service", () => {
  const ends: readonly (readonly [name: string, program: string, reason: string])[] = [
    ["its exit code", "process.exit(4)", "exit code 4"],
    [
      "with the failure that it reports",
      "process.send({ failed: 'no roots' }, () => process.exit(1))",
      "exit code 1, no roots",
    ],
    [
      "with the last error of its log",
      `console.log(${JSON.stringify(error)}); console.log('x')`,
      "exit code 0, failed: disk full",
    ],
    [
      "with its report rather than its log",
      "console.log('logged'); process.send({ failed: 'sent' }, () => process.exit(1))",
      "exit code 1, sent",
    ],
    [
      "a signal, without what it logged last",
      "console.log('well'); process.kill(process.pid, 'SIGKILL')",
      "signal SIGKILL",
    ],
    [
      "a signal, with what it reported before",
      "process.send({ failed: 'sent' }, () => process.kill(process.pid, 'SIGKILL'))",
      "signal SIGKILL, sent",
    ],
  ];
  for (const [name, program, reason] of ends)
    it(`is reported as ${name}`, async () => {
      const child = start(program);
      assert.equal(await child.exited, reason);
      await assert.rejects(child.ended, {
        code: "CLI_SERVICE_ENDED",
        message: `[CLI_SERVICE_ENDED] ca ended by itself: ${reason}`,
      });
      await child.stop();
    });

  it("is not explained by what an earlier run logged", async () => {
    const logFile = newLog();
    writeFileSync(logFile, `${error}\n`);
    assert.equal(await start("process.exit(1)", { logFile }).exited, "exit code 1");
    assert.equal(readFileSync(logFile, "utf8"), `${error}\n`);
  });

  it("is reported with the reason where the program cannot be started", async () => {
    const { execPath } = process;
    process.execPath = join(programs.directory, "absent");
    const child = start("");
    process.execPath = execPath;
    assert.match(await child.exited, /ENOENT/);
    await assert.rejects(child.ended, { code: "CLI_SERVICE_ENDED" });
  });

  it("is no failure when it was asked for", async () => {
    for (const [how, expected] of [
      ["stop", "signal SIGTERM"],
      ["kill", "signal SIGKILL"],
      [Symbol.asyncDispose, "signal SIGTERM"],
    ] as const) {
      const child = start(waits);
      const failed: unknown[] = [];
      child.ended.catch((reason: unknown) => failed.push(reason));
      assert.equal(isAlive(child.pid ?? 0), true);
      await child[how]();
      assert.deepEqual([await child.exited, failed, isAlive(child.pid ?? 0)], [expected, [], false]);
    }
  });

  it("comes by force when the time for a graceful end is over", async () => {
    const logFile = newLog();
    const child = start(`process.on('SIGTERM', () => {}); ${waits}`, { logFile, env: { SHUTDOWN_DURATION: "100ms" } });
    await until(() => readFileSync(logFile, "utf8") !== "", { withinMs: 30_000, what: "the program to run" });
    await child.stop();
    assert.equal(await child.exited, "signal SIGKILL");
  });
});

describe("a service that runs", () => {
  it("is ready when its own page is", async () => {
    let page: object = {};
    const server = createServer((_, response) => response.end(JSON.stringify(page)));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const healthUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using child = start(waits, { healthUrl });
    assert.deepEqual([child.name, child.healthUrl], ["ca", healthUrl]);
    const answers = [];
    for (const next of [
      { ready: true, pid: child.pid },
      { ready: false, pid: child.pid },
      { ready: true, pid: 1 },
    ]) {
      page = next;
      answers.push(await child.isReady());
    }
    server.closeAllConnections();
    server.close();
    assert.deepEqual(answers, [true, false, false]);
  });

  it("has the settings that it is given, a channel to this process, and a place for compiled code", async () => {
    const logFile = newLog();
    const program = "console.log(JSON.stringify([process.connected, process.env.A, process.env.NODE_COMPILE_CACHE]))";
    const compiledCodeDir = join(programs.directory, "compiled");
    await start(program, { logFile, compiledCodeDir, env: { A: "1" } }).exited;
    const [isConnected, setting, compiledIn] = JSON.parse(readFileSync(logFile, "utf8"));
    assert.deepEqual([isConnected, setting], [true, "1"]);
    assert.ok(existsSync(dirname(compiledIn)));
  });
});
