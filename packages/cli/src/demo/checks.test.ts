/** Checks of the demo: what they print and count, and which numbers chance allows. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { binomialBounds, Checks, expect } from "./checks.ts";

it("each check prints a line, and the last line counts them", async () => {
  const lines: string[] = [];
  const checks = new Checks((line) => lines.push(line));
  await checks.run("a", async () => "seen");
  await checks.run("b", async () => {
    expect(true, "never");
    expect(false, "two is not one");
    return "";
  });
  await checks.run("c", () => Promise.reject("a text"));
  assert.deepEqual(lines, ["  ok    a: seen", "  FAIL  b: two is not one", "  FAIL  c: a text"]);
  assert.deepEqual([checks.failed, checks.summary()], [2, "1 passed, 2 failed"]);
});

it("bounds of chance lie around the expected number", () => {
  assert.deepEqual(binomialBounds(100, 0.5), [25, 75]);
  assert.deepEqual(binomialBounds(100, 0), [0, 0]);
});
