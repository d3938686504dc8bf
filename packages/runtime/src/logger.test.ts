import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createLogger, createMetrics, type LogLevel, RuntimeError, until } from "./index.ts";
import { openLogTargets } from "./logger.ts";

function collect(level: LogLevel) {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("ca", level, {
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  return { lines, log };
}

describe("logger", () => {
  it("has one writer for a target, whoever opens it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "log-target-"));
    const file = join(directory, "a.log");
    const before = process.listenerCount("exit");
    const [one, other] = [openLogTargets([file]), openLogTargets([file, file])];
    assert.equal(process.listenerCount("exit"), before + 1);
    one.write("first\n");
    other.write("twice\n");
    const text = async () => await readFile(file, "utf8");
    await until(async () => (await text()).length === 18, { withinMs: 30_000, what: "three lines" });
    assert.equal(await text(), "first\ntwice\ntwice\n");
    await rm(directory, { recursive: true });
  });

  it("writes one object a line: service, level, time, event, fields of the child and its own", () => {
    const { lines, log } = collect("info");
    log.child({ part: "sign" }).info("signed", { bytes: 3 });
    const [{ time, ...rest } = {}] = lines;
    assert.deepEqual(rest, { level: "info", service: "ca", part: "sign", bytes: 3, msg: "signed" });
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it("leaves out what is below its level", () => {
    const { lines, log } = collect("warn");
    log.info("quiet");
    log.warn("loud");
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ["loud"],
    );
  });

  it("writes an error with its code", () => {
    const { lines, log } = collect("info");
    log.error("failed", { error: new RuntimeError("PORT_IN_USE", "port 1") });
    const error = lines[0]?.["error"] as Record<string, unknown>;
    assert.equal(error["code"], "PORT_IN_USE");
    assert.equal(error["message"], "[PORT_IN_USE] port 1");
  });
});

describe("metrics", () => {
  it("keeps counters, gauges and histograms of one registry apart from another's", async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.counter({ name: "events_total", help: "h", labels: ["type"] }).add(2, { type: "config" });
    one.counter({ name: "pushes_total", help: "h" }).add(1);
    const gauge = one.gauge({ name: "proxies", help: "h", labels: ["version"] });
    gauge.set(4, { version: "1" });
    gauge.set(5, { version: "2" });
    gauge.remove({ version: "1" });
    one.gauge({ name: "queue_size", help: "h", collect: (self) => self.set(7) });
    one.histogram({ name: "push_seconds", help: "h", buckets: [0.1, 1] }).observe(0.5);
    const text = await one.text();
    for (const line of [
      'events_total{type="config"} 2',
      "pushes_total 1",
      'proxies{version="2"} 5',
      "queue_size 7",
      'push_seconds_bucket{le="1"} 1',
      'push_seconds_bucket{le="0.1"} 0',
    ])
      assert.ok(text.includes(line), `${line} in\n${text}`);
    assert.ok(!text.includes('version="1"'));
    assert.ok(!(await other.text()).includes("events_total"));
  });

  it("refuses a name that is taken", () => {
    const metrics = createMetrics();
    metrics.counter({ name: "x_total", help: "h" });
    assert.throws(() => metrics.counter({ name: "x_total", help: "h" }), {
      code: "METRIC_INVALID",
      message: /x_total/,
    });
  });
});

describe("log targets", () => {
  it("get every line, files after what they hold already", async () => {
    const directory = await mkdtemp(join(tmpdir(), "log-targets-"));
    const [one, two] = [join(directory, "one.log"), join(directory, "two.log")];
    try {
      createLogger("ca", "info", openLogTargets([one])).info("first");
      createLogger("ca", "info", openLogTargets([one, two])).info("second");
      const eventsOf = async (file: string) =>
        (await readFile(file, "utf8")).split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).msg]));
      const isWritten = async () => (await eventsOf(two)).length === 1 && (await eventsOf(one)).length === 2;
      await until(isWritten, { withinMs: 10_000, what: "both files" });
      assert.deepEqual([await eventsOf(one), await eventsOf(two)], [["first", "second"], ["second"]]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("that cannot be opened are named with the reason", () =>
    assert.throws(() => openLogTargets(["/nowhere/mesh.log"]), {
      code: "LOG_TARGET",
      message: /LOG_TARGET=\/nowhere\/mesh.log: the file cannot be written: ENOENT/,
    }));
});
