import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { testShares, unusedOf, walkFigures } from "./project-figures.ts";

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

describe("unit tests to source", () => {
  const file = (path: string, lines: number) => ({ path, lines });

  it("are shares by top-level folder, without helpers, integration tests and files above folders", () => {
    const shares = testShares([
      ...[file("app/a.ts", 100), file("app/a.test.ts", 60), file("app/a.fixture.ts", 20)],
      ...[file("app/a.integration.test.ts", 500), file("main.ts", 90), file("app/testing/b.ts", 90)],
      ...[file("serve/deep/c.ts", 50), file("serve/deep/c.test.ts", 25), file("testing/d.ts", 10)],
    ]);
    assert.deepEqual(
      [...shares],
      [
        ["app", 0.8],
        ["serve", 0.5],
      ],
    );
  });

  it("are 0 for a folder without tests", () => {
    assert.deepEqual([...testShares([file("push/a.ts", 10)])], [["push", 0]]);
  });
});
