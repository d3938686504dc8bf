/** `flotilla up`, with small programs in place of services and servers. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { readRunning } from "../running.ts";
import { fakePrograms } from "../supervise/fake-programs.fixture.ts";

const programs = fakePrograms();
const root = mkdtempSync(join(tmpdir(), "flotilla-up-"));
const started: ChildProcess[] = [];
after(() => {
  for (const child of started) child.kill("SIGKILL");
  programs[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});
const program = fileURLToPath(new URL("../../bin/flotilla.ts", import.meta.url));

async function begin(command: string) {
  const workDir = join(root, command);
  const args = [program, command, "--work-dir", workDir, "--xds-port", String(await freePorts(12))];
  const env = { ...process.env, ...programs.settings };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const shows = (pattern: RegExp) =>
    until(() => pattern.test(out) || child.exitCode !== null, { withinMs: 90_000, what: `${pattern} of ${command}` });
  const stop = async () => {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    return (await exited)[0];
  };
  return { workDir, out: () => out, shows, stop };
}

describe("flotilla up", () => {
  it("shows what runs where, what ends and starts again, until a signal", async () => {
    const { workDir, out, shows, stop } = await begin("up");
    await shows(/Ctrl-C ends it/);
    assert.match(out(), /^bus nats:\/\/127\.0\.0\.1:\d+, snapshot redis:\/\/127\.0\.0\.1:\d+, files in .*up$/m);
    assert.match(out(), /^NAME +STATE +PID +RESTARTS +LISTENS ON$/m);
    assert.match(out(), /^xds-server +ready +\d+ +0 +:\d+ \(xDS\)/m);
    assert.match(out(), /^ready after [\d.]+ s; Ctrl-C ends it$/m);
    const webhook = readRunning(workDir)?.services.find(({ name }) => name === "webhook");
    process.kill(webhook?.pid ?? 0, "SIGKILL");
    await shows(/^webhook +ready +\d+ +1 /m);
    assert.match(out(), /^webhook ended: signal SIGKILL; next start /m);
    assert.match(out(), /^webhook started again \(process \d+, restart 1\)$/m);
    assert.equal(await stop(), 0);
    assert.match(out(), /^stopping$/m);
    assert.equal(readRunning(workDir), undefined);
  });
});
