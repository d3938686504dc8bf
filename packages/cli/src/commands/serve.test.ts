/** `flotilla serve` within this process, with small programs in place of services and servers. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { services } from "../layout.ts";
import { readRunning } from "../running.ts";
import { fakePrograms } from "../supervise/fake-programs.fixture.ts";
import { serveUntilSignal } from "./serve.ts";

const programs = fakePrograms();
const root = mkdtempSync(join(tmpdir(), "flotilla-serve-"));
after(() => {
  programs[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});

/** Serves in a new directory, with what it has logged. */
async function begin() {
  const workDir = join(root, "work");
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = createLogger("flotilla", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const options = {
    ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined, workDir },
    ...{ settings: programs.settings, firstPort: await freePorts(12), replicas: { console: 1 } },
  };
  const ended = serveUntilSignal({ options, command: "serve", env: {}, log });
  const of = (msg: string) => lines.find((line) => line["msg"] === msg);
  const logs = (msg: string) => until(() => of(msg) !== undefined, { withinMs: 90_000, what: `the line "${msg}"` });
  return { workDir, ended, lines, of, logs };
}

describe("flotilla serve", () => {
  it("logs what starts, ends and starts again, until a signal", async () => {
    const { workDir, ended, lines, of, logs } = await begin();
    await logs("started");
    const ca = readRunning(workDir)?.services.find(({ name }) => name === "ca");
    process.kill(ca?.pid ?? 0, "SIGKILL");
    await logs("process started again");
    assert.equal(of("stopping"), undefined, "it serves until it is stopped");
    // A runner of tests in this process ends by SIGINT and SIGTERM itself.
    process.emit("SIGHUP");
    assert.equal(await ended, 0);
    assert.equal(readRunning(workDir), undefined);
    assert.deepEqual(of("started")?.["services"], services);
    const end = of("process ended");
    assert.deepEqual([end?.["level"], end?.["process"], end?.["reason"]], ["warn", "ca", "signal SIGKILL"]);
    const again = of("process started again");
    assert.deepEqual([again?.["level"], again?.["process"], again?.["restarts"]], ["info", "ca", 1]);
    assert.equal(lines.at(-1)?.["msg"], "stopping");
  });
});
