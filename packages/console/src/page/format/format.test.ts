import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DiffLine, diffLines } from "./line-diff.ts";
import { counted, formatAge, formatBytes, formatCount, formatDuration, formatShare, formatTime } from "./quantities.ts";

describe("quantities", () => {
  const cases: readonly (readonly [text: string, expected: string])[] = [
    [formatCount(1_234_567), "1,234,567"],
    [formatBytes(0), "0 B"],
    [formatBytes(999), "999 B"],
    [formatBytes(1234), "1.23 kB"],
    [formatBytes(999_600), "1 MB"],
    [formatDuration(9.94), "9.9 ms"],
    [formatDuration(10.4), "10 ms"],
    [formatDuration(999.4), "999 ms"],
    [formatDuration(999.5), "1 s"],
    [formatDuration(59_499), "59.5 s"],
    [formatDuration(59_500), "1 min"],
    [formatBytes(1_480_221), "1.48 MB"],
    [formatDuration(0), "0 ms"],
    [formatDuration(0.44), "0.4 ms"],
    [formatDuration(87.4), "87 ms"],
    [formatDuration(1250), "1.25 s"],
    [formatDuration(200_000), "3 min 20 s"],
    [formatDuration(3_600_000), "1 h"],
    [formatDuration(1_047_600_000), "12 d 3 h"],
    [formatDuration(-1250), "−1.25 s"],
    [formatAge(10_000, 10_500), "now"],
    [formatAge(0, 12_300), "12 s ago"],
    [formatAge(0, 3 * 3_600_000), "3 h ago"],
    [formatAge(5 * 86_400_000, 0), "in 5 d"],
    [formatShare(0.125), "12.5 %"],
    [formatShare(0.0004), "<0.1 %"],
    [formatShare(0), "0 %"],
    [counted(1, "proxy", "proxies"), "1 proxy"],
    [counted(1200, "row"), "1,200 rows"],
  ];
  for (const [text, expected] of cases) it(expected, () => assert.equal(text, expected));

  it("have times of the reader's own zone, to the second", () => {
    assert.equal(formatTime(new Date(2026, 2, 1, 14, 5, 9).getTime()), "2026-03-01 14:05:09");
  });
});

describe("lines that differ", () => {
  const show = (lines: readonly DiffLine[]) => lines.map(({ op, text }) => `${op} ${text}`);
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join("\n");

  it("stand between some that are equal, with gaps for the others", () => {
    const before = numbered(20);
    const lines = diffLines(before, before.replace("line 10\n", "line ten\n"), 1);
    assert.deepEqual(show(lines), [
      ...["gap 8 equal lines", "same line 9", "removed line 10", "added line ten", "same line 11", "gap 9 equal lines"],
    ]);
    assert.deepEqual(lines[3], { op: "added", text: "line ten", after: 10 });
  });

  it("are none between equal texts", () => assert.deepEqual(diffLines("a\nb\n", "a\nb\n"), []));

  it("are all of them when there was nothing, or is nothing", () => {
    assert.deepEqual(show(diffLines("", "a\nb\n")), ["added a", "added b"]);
    assert.deepEqual(show(diffLines("a\n", "")), ["removed a"]);
  });

  it("lead from one text to the other", () => {
    const [before, after] = ["a\nb\nc\nd\ne", "b\nx\nd\ne\nf"];
    const lines = diffLines(before, after, 99);
    const side = (left: "removed" | "added") =>
      lines
        .filter(({ op }) => op === "same" || op === left)
        .map(({ text }) => text)
        .join("\n");
    assert.deepEqual([side("removed"), side("added")], [before, after]);
    assert.equal(lines.filter(({ op }) => op === "same").length, 3);
  });

  it("of very long texts are found without a table of all pairs", () => {
    const lines = diffLines(`a\n${numbered(4000)}`, `b\n${numbered(4000).replaceAll("line", "row")}`);
    assert.equal(lines.length, 8002);
  });
});
