import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { unusedOf, walkFigures } from "./project-figures.ts";

describe("unused names", () => {
  it("are a line each, by file and kind", () => {
    const issues = [
      { file: "a.ts", exports: [{ name: "one", line: 1 }, { name: "two" }], files: [], dependencies: [] },
      { file: "package.json", exports: [], dependencies: [{ name: "left-pad" }] },
    ];
    assert.deepEqual(unusedOf(JSON.stringify({ issues })), [
      "a.ts: exports one",
      "a.ts: exports two",
      "package.json: dependencies left-pad",
    ]);
  });

  it("are none where nothing is found", () => {
    assert.deepEqual(unusedOf(`{"issues":[]}`), []);
  });
});

describe("figures of the walk", () => {
  it("are the files and the most returns of each section", () => {
    const page =
      "# Page\n\n## A change\n\n60 files, 9 to 12 returns.\n\n## Another\n\n50 files, 6 returns.\n\n## Notes\n";
    assert.deepEqual(walkFigures(page), [
      { title: "A change", files: 60, returns: 12 },
      { title: "Another", files: 50, returns: 6 },
    ]);
  });

  it("are found on the page of this project", () => {
    const page = readFileSync(new URL("../../docs/architecture/walk.md", import.meta.url), "utf8");
    assert.deepEqual(
      walkFigures(page).map(({ title }) => title),
      ["A VirtualService", "An endpoint"],
    );
  });
});
