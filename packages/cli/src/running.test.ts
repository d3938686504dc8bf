import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { paths, portsFrom } from "./layout.ts";
import { healthUrlOf, openRunning, readRunning, runningIn } from "./running.ts";
import type { RunningService } from "./supervise/running-service.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-running-"));
after(() => rmSync(workDir, { recursive: true }));
const layout = { workDir, ports: portsFrom(20_000) };
const { state } = paths(layout);
mkdirSync(dirname(state), { recursive: true });

const service = (replica: string, more: object = {}): RunningService =>
  ({
    ...{ name: "xds-server", replica, healthUrl: `http://127.0.0.1/${replica}`, pid: 7 },
    supervised: { run: {}, restarts: 2 },
    ...more,
  }) as unknown as RunningService;

describe("the record of what runs", () => {
  it("is there from the first write until it is disposed of, and never half", () => {
    assert.equal(readRunning(workDir), undefined);
    const record = openRunning(layout);
    record.write([
      service("xds-server-1"),
      service("xds-server-2", { supervised: { run: undefined, restarts: 0 } }),
      service("xds-server-3", { pid: undefined }),
    ]);
    const running = runningIn(workDir);
    assert.deepEqual([running.pid, running.ports], [process.pid, layout.ports]);
    assert.deepEqual(running.services, [
      { name: "xds-server", replica: "xds-server-1", healthUrl: "http://127.0.0.1/xds-server-1", pid: 7, restarts: 2 },
      { name: "xds-server", replica: "xds-server-2", healthUrl: "http://127.0.0.1/xds-server-2", restarts: 0 },
      {
        name: "xds-server",
        replica: "xds-server-3",
        healthUrl: "http://127.0.0.1/xds-server-3",
        pid: process.pid,
        restarts: 2,
      },
    ]);
    assert.equal(healthUrlOf("xds-server", workDir), "http://127.0.0.1/xds-server-1");
    assert.throws(() => healthUrlOf("ca", workDir), {
      code: "CLI_NOT_RUNNING",
      message: new RegExp(`no ca runs with the work directory ${workDir}`),
    });
    assert.deepEqual(
      readdirSync(dirname(state)).filter((name) => name.endsWith(".new")),
      [],
    );
    record[Symbol.dispose]();
    record.write([service("xds-server-1")]);
    assert.equal(readRunning(workDir), undefined);
    assert.throws(() => runningIn(workDir), { code: "CLI_NOT_RUNNING" });
    record[Symbol.dispose]();
  });

  it("counts as none when it is no JSON, and what cannot be read is an error", () => {
    writeFileSync(state, "{");
    assert.equal(readRunning(workDir), undefined);
    rmSync(state);
    mkdirSync(state);
    assert.throws(() => readRunning(workDir), { code: "EISDIR" });
    rmSync(state, { recursive: true });
  });
});
