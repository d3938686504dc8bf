/** Files that are made once or replaced, with exactly the rights that are asked for. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createFile, replaceFile } from "./private-file.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-private-file-"));
after(() => rmSync(directory, { recursive: true }));
const file = join(directory, "file");
const found = () => [readFileSync(file, "utf8"), statSync(file).mode & 0o777, readdirSync(directory)];

describe("a file", () => {
  const umask = process.umask(0o027);
  after(() => process.umask(umask));

  it("is created once, whatever the umask", async () => {
    assert.equal(await createFile(file, "one", 0o646), true);
    assert.deepEqual(found(), ["one", 0o646, ["file"]]);
    assert.equal(await createFile(file, "two", 0o600), false);
    assert.deepEqual(found(), ["one", 0o646, ["file"]]);
  });
  it("is replaced, with its rights", async () => {
    await replaceFile(file, "three", 0o604);
    assert.deepEqual(found(), ["three", 0o604, ["file"]]);
  });
  it("is neither where there is no directory, or a directory in its place", async () => {
    const nowhere = join(directory, "no", "file");
    await assert.rejects(createFile(nowhere, "x", 0o600), { code: "ENOENT" });
    await assert.rejects(replaceFile(directory, "x", 0o600));
    assert.deepEqual(found(), ["three", 0o604, ["file"]]);
  });
});
