/** Parts of the last run that are kept. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readLastRun, writeLastRun } from "./last-run.ts";

test("seconds of files are kept, those that did not run again too", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-last-run-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "cache/seconds.json");
  assert.deepEqual(readLastRun(file), new Map());
  writeLastRun(
    new Map([
      ["b.test.ts", 2],
      ["a.test.ts", 1],
    ]),
    file,
  );
  writeLastRun(new Map([["b.test.ts", 3]]), file);
  assert.deepEqual(
    [...readLastRun(file)],
    [
      ["a.test.ts", 1],
      ["b.test.ts", 3],
    ],
  );
});
