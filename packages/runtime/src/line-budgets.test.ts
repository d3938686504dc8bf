/** Lines by a clock that the test sets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LineBudgets, refusedCallerLines } from "./line-budgets.ts";

function setUp(maxLines = 10) {
  const lines: (readonly [key: string, unlogged: number | undefined])[] = [];
  const clock = { nowMs: 1_000 };
  let unlogged = 0;
  const budgets = new LineBudgets({
    ...{ maxLines, intervalMs: 10_000, now: () => clock.nowMs },
    onUnlogged: () => unlogged++,
  });
  const write = (key: string, count = 1): void => {
    for (let at = 0; at < count; at++) budgets.write(key, (more) => void lines.push([key, more.unlogged]));
  };
  return { lines, clock, write, unlogged: () => unlogged };
}

describe("log lines that a caller causes", () => {
  it("are ten at once, then one in ten seconds with the number of those left out", () => {
    const { lines, clock, write, unlogged } = setUp();
    write("a", 1_000);
    assert.deepEqual([lines.length, unlogged()], [10, 990]);
    clock.nowMs += 9_000;
    write("a", 5);
    assert.deepEqual([lines.length, unlogged()], [10, 995]);
    clock.nowMs += 1_000;
    write("a", 5);
    assert.deepEqual([lines.length, unlogged(), lines.at(-1)], [11, 999, ["a", 995]]);
    clock.nowMs += 1_000_000;
    write("a", 1_000);
    assert.deepEqual([lines.length, lines.at(-10), lines.at(-1)], [21, ["a", 4], ["a", undefined]]);
  });

  it("leave others theirs", () => {
    const { lines, write } = setUp();
    write("a", 100);
    write("b", 3);
    assert.deepEqual(
      lines.slice(10).map(([key]) => key),
      ["b", "b", "b"],
    );
  });

  it("are shared beyond a thousand callers, until budgets are full again", () => {
    const { lines, clock, write } = setUp(2);
    for (let at = 0; at < 1_100; at++) write(`caller ${at}`);
    // A thousand with their own budget, and one more for all others.
    assert.equal(lines.length, 1_002);
    clock.nowMs += 20_000;
    write("another", 3);
    assert.equal(lines.length, 1_004);
  });

  it("of a refused caller are fifty at once", () => {
    let [lines, unlogged] = [0, 0];
    const refused = refusedCallerLines(() => unlogged++);
    for (let at = 0; at < 1_000; at++) refused.write("10.0.0.1", () => lines++);
    assert.ok(lines >= 50 && lines < 100, `${lines} lines`);
    assert.equal(unlogged, 1_000 - lines);
  });
});
