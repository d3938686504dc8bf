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

  it("show each value as it is written, and an error without a stack by its message", () => {
    const values = { a: "b", c: "d e", f: 'g"h', i: "j=k", l: "", m: [1, "n"], o: null, p: true };
    assert.equal(
      describeLogLine(line("info", 1, "x", values), 2, plain),
      '00:00:01.000 INFO  ca  x  a=b  c="d e"  f="g\\"h"  i="j=k"  l=  m=[1,"n"]  o=null  p=true',
    );
    const errors: readonly (readonly [error: unknown, expected: string])[] = [
      [{ message: "no" }, "\n                       no"],
      [{ message: "no", stack: 7 }, "\n                       no"],
      [{}, "\n                       undefined"],
      ["no", ""],
      [null, ""],
    ];
    for (const [error, expected] of errors)
      assert.equal(describeLogLine(line("error", 1, "x", { error }), 2, plain), `00:00:01.000 ERROR ca  x${expected}`);
  });

  it("are events where they have a text and a time, with the other fields", () => {
    const time = "2026-01-01T00:00:01.000Z";
    assert.deepEqual(line("info", 1, "x", { a: 1 }).event, {
      ...{ level: "info", timeMs: Date.parse(time), text: "x", fields: { a: 1 } },
    });
    for (const raw of [{ time, level: "info" }, { time, msg: 7 }, { msg: "x" }, { msg: "x", time: "soon" }].map((one) =>
      JSON.stringify(one),
    ))
      assert.deepEqual(parseLogLine("ca", raw), { replica: "ca", raw });
  });

  it("have their time and level painted, but for unknown levels", () => {
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

  it("of an unknown level are chosen by age alone", () => {
    const choice = { level: "error", sinceMs: Date.parse("2026-01-01T00:00:02Z") } as const;
    assert.deepEqual(
      [line("trace", 1, "a"), line("trace", 2, "b"), line("debug", 3, "c")].map((one) => isChosen(one, choice)),
      [false, true, false],
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
