/** Files that are read again and again: what is reported, and when. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { FileReader, followFiles } from "./follow-files.ts";
import { until } from "./wait.ts";

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
  it("are read once after they have settled, and again when they change", async () => {
    const file = join(directory, "c");
    writeFileSync(file, "one");
    const reader = new FileReader([file]);
    const isKept = async () => {
      const before = await reader.read();
      return (await reader.read()) === before;
    };
    await until(isKept, { withinMs: 60_000, what: "the file to settle", everyMs: 100 });
    assert.deepEqual((await reader.read()).texts, ["one"]);
    // As long as the text before.
    writeFileSync(file, "two");
    assert.deepEqual((await reader.read()).texts, ["two"]);
    rmSync(file);
    assert.match((await reader.read()).reason, /ENOENT/);
    writeFileSync(file, "two");
    assert.deepEqual((await reader.read()).texts, ["two"]);
  });
});
