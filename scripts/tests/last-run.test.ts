/** Parts of the last run that are kept. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./find-files.ts";
import { expectedSeconds, readLastRun, writeLastRun, writeMeasured } from "./last-run.ts";

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

test("a clone where nothing ran has the seconds of long files, and a last run takes precedence", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-last-run-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "measured.json");
  writeMeasured(
    new Map([
      ["long.test.ts", 61.4],
      ["short.test.ts", 1],
    ]),
    file,
  );
  assert.deepEqual([...readLastRun(file)], [["long.test.ts", 61]]);
  const secondsOf = expectedSeconds(new Map([["here.test.ts", 7]]), readLastRun(file));
  assert.deepEqual(["long.test.ts", "here.test.ts", "new.test.ts"].map(secondsOf), [61, 7, 2]);
});

test("the table of a clone names files that there are", () => {
  const files = [...readLastRun(join(root, "scripts/tests/measured-seconds.json")).keys()];
  assert.ok(files.length > 50, `${files.length} files`);
  for (const file of files) assert.ok(existsSync(join(root, file)), file);
});
