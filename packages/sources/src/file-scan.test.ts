/** Files that count below a path, and their texts. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { isConfigFile, isGone, readTexts, sameStamp, scanFiles, stampFile } from "./file-scan.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "file-scan-")));
after(() => rmSync(root, { recursive: true }));
function write(path: string, text = ""): string {
  const file = join(root, path);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  return file;
}
const below = (directory: string, paths: Iterable<string>) =>
  [...paths].map((path) => path.slice(directory.length)).sort();

describe("a configuration file", () => {
  for (const [path, expected] of [
    ["/a/b.yaml", true],
    ["b.yml", true],
    ["b.JSON", true],
    ["b.yaml.bak", false],
    ["yaml", false],
    ["/a/.b.yaml", false],
    ["/.a/b.yaml", true],
  ] as const)
    it(`${path}: ${expected}`, () => assert.equal(isConfigFile(path), expected));
});

describe("files below a path", () => {
  it("are those of all directories that are not hidden", async () => {
    for (const path of ["tree/a.yaml", "tree/b/c.json", "tree/b/d.txt", "tree/.git/e.yaml", "tree/.f.yaml"])
      write(path);
    const { files, directories } = await scanFiles(join(root, "tree"));
    assert.deepEqual(below(root, files.keys()), ["/tree/a.yaml", "/tree/b/c.json"]);
    assert.deepEqual(below(root, directories), ["/tree", "/tree/b"]);
  });

  it("are found through links, whose directories are watched, once and without going round", async () => {
    write("elsewhere/real.yaml", "text");
    write("other/deep.yaml");
    mkdirSync(join(root, "links"));
    symlinkSync(join(root, "elsewhere/real.yaml"), join(root, "links/link.yaml"));
    symlinkSync(join(root, "other"), join(root, "links/dir"));
    symlinkSync(join(root, "links"), join(root, "links/round"));
    symlinkSync(join(root, "nothing.yaml"), join(root, "links/dangling.yaml"));
    const { files, directories } = await scanFiles(join(root, "links"));
    assert.deepEqual(below(root, files.keys()), ["/links/dir/deep.yaml", "/links/link.yaml"]);
    assert.deepEqual(below(root, directories), ["/elsewhere", "/links", "/other"]);
    assert.equal(files.get(join(root, "links/link.yaml"))?.size, 4);
  });

  it("are one where the path is a file, of any name; a link's target is watched too", async () => {
    const file = write("single/mesh", "x");
    assert.deepEqual(below(root, (await scanFiles(file)).files.keys()), ["/single/mesh"]);
    const link = join(root, "single-link.yaml");
    symlinkSync(file, link);
    assert.deepEqual(below(root, (await scanFiles(link)).directories), ["", "/single"]);
    await assert.rejects(scanFiles(join(root, "nowhere")), { code: "ENOENT" });
  });
});

describe("the stamp of a file", () => {
  it("is another one when the file is", async () => {
    const file = write("stamp/a.yaml", "one");
    const first = await stampFile(file);
    assert.equal(first?.size, 3);
    assert.equal(sameStamp(first, await stampFile(file)), true);
    utimesSync(file, 1, 1);
    const older = await stampFile(file);
    assert.equal(sameStamp(first, older), false);
    writeFileSync(file, "longer");
    utimesSync(file, 1, 1);
    assert.equal(sameStamp(older, await stampFile(file)), false);
    const copy = { ...first, inode: -1 } as NonNullable<typeof first>;
    assert.deepEqual(
      [sameStamp(first, copy), sameStamp(first, undefined), sameStamp(undefined, undefined)],
      [false, false, true],
    );
  });

  it("is none of what is gone, or is a directory", async () => {
    write("stamp/b.yaml");
    assert.equal(await stampFile(join(root, "stamp/none.yaml")), undefined);
    assert.equal(await stampFile(join(root, "stamp")), undefined);
    assert.equal(await stampFile(join(root, "stamp/b.yaml/c.yaml")), undefined);
  });
});

it("errors that mean a missing file", () => {
  const codes = ["ENOENT", "ENOTDIR", "ELOOP", "EACCES", undefined];
  assert.deepEqual(
    codes.map((code) => isGone({ code })),
    [true, true, true, false, false],
  );
  assert.equal(isGone(undefined), false);
});

it("texts are read of files that are there, more than fit into one go; what cannot be read is an error", async () => {
  const stamp = { mtimeMs: 1, size: 1, inode: 1 };
  const files = Array.from({ length: 40 }, (_, i) => write(`texts/${String(i).padStart(2, "0")}.yaml`, `text ${i}`));
  const [missing, directory, deleted] = [
    join(root, "texts/none.yaml"),
    join(root, "texts"),
    join(root, "texts/00.json"),
  ];
  const texts = await readTexts(
    new Map([...files, missing, directory].map((file) => [file, stamp] as const)).set(deleted, undefined as never),
  );
  assert.deepEqual(
    files.map((file) => texts.get(file)),
    files.map((_, i) => `text ${i}`),
  );
  assert.deepEqual([texts.get(missing), texts.get(deleted), texts.has(deleted)], [undefined, undefined, true]);
  assert.ok(texts.get(directory) instanceof Error);
});
