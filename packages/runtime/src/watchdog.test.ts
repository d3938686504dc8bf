import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startWatchdog } from "./watchdog.ts";

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly service: string;
  readonly stalledMs?: number;
  readonly stack?: readonly string[];
}

const limits = { WATCHDOG_REPORT_AFTER: "300ms", WATCHDOG_END_AFTER: "1200ms" };
const standsStill = "main thread stands still";
const ending = "main thread stood still for too long, ending the process";

/** A process whose main is `body` under a watchdog; `flags` are Node's. */
function startMain(body: string, settings: NodeJS.ProcessEnv = limits, flags: readonly string[] = []): ChildProcess {
  const code = `
    import { createLogger, createMetrics, delay, runUntilSignal } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
    import { readFileSync } from "node:fs";
    const spin = (ms) => { for (const end = performance.now() + ms; performance.now() < end; ); };
    const log = createLogger("test");
    const service = { name: "test", env: process.env };
    await runUntilSignal(async (stop) => { const alive = setInterval(() => {}, 1000); await delay(300); ${body}; clearInterval(alive); }, { log, service });`;
  return startNode(code, { ...process.env, ...settings }, flags);
}

function startNode(code: string, env = process.env, flags: readonly string[] = []): ChildProcess {
  const args = [...flags, "--input-type=module", "-e", code];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"], env, timeout: 30_000 });
}

async function resultOf(child: ChildProcess) {
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [exitCode, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  return { exitCode, signal, output, lines: lines.map((line) => JSON.parse(line) as Line) };
}

describe("watchdog", { concurrency: 2 }, () => {
  it("is off where it is to report nothing, whatever else is set", () => {
    assert.equal(startWatchdog({ service: "test", stallReportMs: 0, stallEndMs: 30_000 }), undefined);
  });

  it("reports a main thread that stands still with its stack, counts it, and goes on when it runs again", async () => {
    const body = `(function busy() { spin(2_500); })(); await delay(300);
      log.info(/^flotilla_main_thread_stalls_total (\\d+)$/m.exec(await createMetrics().text())[1])`;
    const { exitCode, lines } = await resultOf(startMain(body, { ...limits, WATCHDOG_END_AFTER: "60s" }));
    assert.equal(exitCode, 0);
    const report = lines.find(({ msg }) => msg === standsStill);
    assert.equal(report?.level, "error");
    assert.equal(report?.service, "test");
    assert.match(report?.stack?.join(" ") ?? "", /\bspin \(.*\bbusy \(/);
    assert.ok(lines.some(({ msg, stalledMs = 0 }) => msg === "main thread runs again" && stalledMs >= 300));
    assert.ok(lines.some(({ msg }) => msg === "1"));
  });

  for (const [name, blocked, place] of [
    ["a loop", "spin(60_000)", /\bspin \(/],
    ["a regular expression", "(function match() { /^(a+)+$/.test('a'.repeat(64) + 'b'); })()", /\bmatch \(/],
  ] as const)
    it(`ends a process that stands still in ${name}, with its last lines and exit code 70`, async () => {
      const { exitCode, lines } = await resultOf(startMain(`log.info("last line"); ${blocked}`));
      assert.equal(exitCode, 70);
      assert.ok(lines.some(({ msg }) => msg === "last line"));
      assert.match(lines.find(({ msg }) => msg === ending)?.stack?.join(" ") ?? "", place);
    });

  it("ends a process that stands still in native code", async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-watchdog-"));
    const pipe = join(directory, "pipe");
    try {
      assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
      const { signal, lines } = await resultOf(startMain(`readFileSync(${JSON.stringify(pipe)})`));
      assert.equal(signal, "SIGKILL");
      assert.deepEqual(lines.find(({ msg }) => msg === ending)?.stack, ["(in native code: no stack)"]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("lets a main thread go on that runs again in the moment in which it would be ended", async () => {
    const file = JSON.stringify(new URL("./watchdog-thread.ts", import.meta.url).href);
    // The stack is taken once for the report, and once more before the end.
    const thread = `
      import { Session } from "node:inspector";
      import { workerData } from "node:worker_threads";
      const { post } = Session.prototype;
      let stacks = 0;
      Session.prototype.post = function (method) {
        if (method === "Debugger.pause" && ++stacks === 2) Atomics.add(workerData.shared, 0, 1);
        post.call(this, method);
      };
      const { WatchdogThread } = await import(${file});
      new WatchdogThread(workerData).run();`;
    const code = `
      import { Worker } from "node:worker_threads";
      const shared = new Int32Array(new SharedArrayBuffer(16));
      const limits = { tickMs: 10, reportAfterMs: 300, endAfterMs: 300, stackWithinMs: 30_000, exitCode: 70 };
      const workerData = { service: "test", shared, ...limits };
      new Worker(${JSON.stringify(thread)}, { eval: true, workerData }).unref();
      while (Atomics.load(shared, 0) === 0);
      Atomics.store(shared, 2, 1);
      console.log(JSON.stringify({ msg: \`goes on after \${shared[1]} stall\` }));`;
    const { exitCode, lines } = await resultOf(startNode(code));
    assert.equal(exitCode, 0);
    const found = lines.map(({ msg }) => msg).filter((msg) => msg !== "main thread runs again");
    assert.deepEqual(found, [standsStill, "goes on after 1 stall"]);
  });

  it("takes a process that was stopped for no stall", async () => {
    const child = startMain(`log.info("up"); await delay(1000)`);
    const result = resultOf(child);
    await new Promise<void>((resolve) =>
      child.stdout?.on("data", (chunk: Buffer) => {
        if (chunk.toString().includes('"up"')) resolve();
      }),
    );
    child.kill("SIGSTOP");
    // Longer than it takes to report and to end a stall.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    child.kill("SIGCONT");
    const { exitCode, lines } = await result;
    assert.equal(exitCode, 0);
    assert.deepEqual(
      lines.filter(({ level }) => level === "error"),
      [],
    );
  });

  for (const [name, settings, flags] of [
    ["where the settings turn it off", { WATCHDOG_REPORT_AFTER: "0s" }, []],
    ["while an inspector is open", limits, ["--inspect=127.0.0.1:0"]],
  ] as const)
    it(`does nothing ${name}`, async () => {
      const { exitCode, lines } = await resultOf(startMain("spin(1800)", settings, flags));
      assert.equal(exitCode, 0);
      assert.deepEqual(
        lines.filter(({ level }) => level === "error"),
        [],
      );
    });
});
