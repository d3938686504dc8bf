import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeLogLine, isChosen, mergeByTime, parseLogLine } from "./log-line.ts";

const plain = (_: string, text: string) => text;
const line = (level: string, second: number, msg: string, fields: object = {}) =>
  parseLogLine(
    "ca",
    JSON.stringify({ level, time: `2026-01-01T00:00:0${second}.000Z`, service: "ca", ...fields, msg }),
  );
const crash = parseLogLine("ca", "Error: no memory");

describe("lines of logs", () => {
  it("are written for people, values with spaces in quotes", () => {
    const text = describeLogLine(line("warn", 1, "signed", { name: "a b", count: 2 }), 4, plain);
    assert.equal(text, '00:00:01.000 WARN  ca    signed  name="a b"  count=2');
  });

  it("have their time and level painted, but for levels that nobody knows", () => {
    const painted = (level: string) =>
      describeLogLine(line(level, 1, "x"), 2, (style, text) => `<${style} ${text.trim()}>`);
    const styles = ["debug", "info", "warn", "error", "trace"].map((level) => painted(level).split(" ca  ")[0]);
    assert.deepEqual(styles, [
      "<dim 00:00:01.000> <dim DEBUG>",
      "<dim 00:00:01.000> <cyan INFO>",
      "<dim 00:00:01.000> <yellow WARN>",
      "<dim 00:00:01.000> <red ERROR>",
      "<dim 00:00:01.000> TRACE",
    ]);
  });

  it("show the stack of an error below, and other lines as they are", () => {
    const failed = line("error", 1, "failed", { error: { message: "no", stack: "Error: no\n  at x" } });
    assert.match(describeLogLine(failed, 2, plain), /ERROR ca {2}failed\n {21,}Error: no\n {21,} {2}at x$/);
    assert.match(describeLogLine(crash, 2, plain), /^ +ca {2}Error: no memory$/);
    assert.match(describeLogLine(parseLogLine("ca", '{"level":"in'), 2, plain), /\{"level":"in$/);
  });

  it("are chosen by level and age; a crash is always shown", () => {
    const choice = { level: "warn", sinceMs: Date.parse("2026-01-01T00:00:02Z") } as const;
    const lines = [line("info", 3, "a"), line("warn", 1, "b"), line("warn", 2, "c"), line("error", 3, "d"), crash];
    assert.deepEqual(
      lines.filter((one) => isChosen(one, choice)).map((one) => one.event?.text ?? one.raw),
      ["c", "d", "Error: no memory"],
    );
  });

  it("of several replicas are in order of time, and a stack stays behind its line", () => {
    const merged = mergeByTime([
      [line("info", 1, "a"), crash, line("info", 4, "d")],
      [line("info", 2, "b"), line("info", 3, "c")],
    ]);
    assert.deepEqual(
      merged.map((one) => one.event?.text ?? one.raw),
      ["a", "Error: no memory", "b", "c", "d"],
    );
  });
});
