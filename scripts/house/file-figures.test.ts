/** Figures of a source file. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileFigures, longLines } from "./file-figures.ts";

const figures = (...lines: readonly string[]) => fileFigures("a.ts", `${lines.join("\n")}\n`);

describe("figures of a file", () => {
  it("counts its lines", () => assert.equal(figures("const a = 1;", "", "use(a);").lines, 3));

  it("counts exports, and those with a doc comment of their own", () => {
    const { exports, documented } = figures(
      "/** The file. */",
      'import x from "x";',
      "/** One. */",
      "export const a = 1;",
      "// No doc comment.",
      "export function b() {}",
      "/** Two. */",
      "export interface C {}",
      "function d() {}",
      'export { x } from "y";',
    );
    assert.deepEqual({ exports, documented }, { exports: 3, documented: 2 });
  });

  it("names functions that are too long, by what they are called", () => {
    const body = Array.from({ length: longLines }, () => "  use();");
    const { longFunctions } = figures(
      ...["function long() {", ...body, "}"],
      ...["const short = () => {", ...body.slice(2), "};"],
      ...["const called = () => {", ...body, "};"],
      ...["class A {", "  method() {", ...body, "  }", "}"],
    );
    assert.deepEqual(longFunctions, ["long (62)", "called (62)", "method (62)"]);
  });
});
