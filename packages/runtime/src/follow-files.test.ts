/** Files that are read again and again: what is reported, and when. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { followFiles } from "./follow-files.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-follow-files-"));
after(() => rmSync(directory, { recursive: true }));

describe("followed files", () => {
  it("are reported at first, and when they change", async () => {
    const file = join(directory, "a");
    writeFileSync(file, "one");
    const versions = followFiles([file], 1, new AbortController().signal);
    assert.deepEqual((await versions.next()).value, { texts: ["one"], reason: "" });
    writeFileSync(file, "three");
    assert.deepEqual((await versions.next()).value, { texts: ["three"], reason: "" });
    rmSync(file);
    assert.match((await versions.next()).value?.reason ?? "", /ENOENT/);
    await versions.return();
  });
  it("are read no more often than they are to be", async () => {
    const file = join(directory, "b");
    writeFileSync(file, "one");
    const stop = new AbortController();
    const versions = followFiles([file], 60_000, stop.signal);
    await versions.next();
    const next = versions.next();
    writeFileSync(file, "two");
    // As long as a reader needs that does not wait.
    for (let reads = 0; reads < 50; reads++) await readFile(file);
    stop.abort();
    assert.deepEqual(await next, { done: true, value: undefined });
  });
});
