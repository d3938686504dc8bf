/** Files that run a second time, and the report about them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FileOutcome, TestOutcome } from "./run-file.ts";
import { mostFiles, runFailedAgain } from "./second-run.ts";

const passed = (name: string): TestOutcome => ({ name, outcome: "passed" });
const failed = (name: string, reason: string): TestOutcome => ({ name, outcome: "failed", reason });
const outcome = (file: string, ...tests: readonly TestOutcome[]): FileOutcome => ({
  ...{ file, tests, output: "", seconds: 1 },
});

async function runs(first: readonly FileOutcome[], second: readonly FileOutcome[]) {
  const asked: string[] = [];
  const found = await runFailedAgain(first, async (file) => {
    asked.push(file);
    return second.find((one) => one.file === file) ?? outcome(file);
  });
  return { asked, ...found };
}

describe("a second run", () => {
  it("is not made when nothing failed", async () => {
    const first = [outcome("a", passed("one"))];
    assert.deepEqual(await runs(first, []), { asked: [], outcomes: first, unsteady: [] });
  });

  it("reports what passed then as unsteady, with the first reason", async () => {
    const second = outcome("b", passed("one"), passed("two"));
    const { asked, outcomes, unsteady } = await runs(
      [outcome("a", passed("one")), outcome("b", passed("one"), failed("two", "too late"))],
      [second],
    );
    assert.deepEqual(asked, ["b"]);
    assert.deepEqual(outcomes, [outcome("a", passed("one")), second]);
    assert.deepEqual(unsteady, [{ file: "b", name: "two", reason: "too late" }]);
  });

  it("leaves failed what fails again, and what fails only then", async () => {
    const second = outcome("a", failed("one", "no"), failed("two", "no"));
    const { outcomes, unsteady } = await runs([outcome("a", failed("one", "no"), passed("two"))], [second]);
    assert.deepEqual(outcomes, [second]);
    assert.deepEqual(unsteady, []);
  });

  it("is not made of many files", async () => {
    const first = Array.from({ length: mostFiles + 1 }, (_, i) => outcome(String(i), failed("one", "no")));
    assert.deepEqual(await runs(first, []), { asked: [], outcomes: first, unsteady: [] });
  });
});
