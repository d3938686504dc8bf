/** Test files that run beside each other; the lists of those that may not do so name existing files. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { describe, it } from "node:test";
import { findTestFiles, root } from "./find-files.ts";
import { limits, ownProcess, type Rules, rules, runPlanned, unitGroups } from "./plan.ts";

/** The files that ran, each with those that ran beside it when it began. */
async function runs(
  files: readonly string[],
  atOnce: number,
  given: Rules,
  seconds: Readonly<Record<string, number>> = {},
): Promise<readonly (readonly string[])[]> {
  const running = new Set<string>();
  const seen: (readonly string[])[] = [];
  const run = async (file: string) => {
    seen.push([file, ...running]);
    running.add(file);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    running.delete(file);
  };
  await runPlanned(files, atOnce, run, given, (file) => seconds[file]);
  return seen;
}

const none: Rules = { shared: {}, alone: {} };
const cases: readonly {
  readonly name: string;
  readonly files: readonly string[];
  readonly atOnce: number;
  readonly rules: Rules;
  /** Of the last run. */
  readonly seconds?: Readonly<Record<string, number>>;
  readonly runs: readonly (readonly string[])[];
}[] = [
  { name: "no file", files: [], atOnce: 2, rules: none, runs: [] },
  { name: "one at a time, the last first", files: ["a", "b"], atOnce: 1, rules: none, runs: [["b"], ["a"]] },
  {
    name: "two at a time",
    files: ["a", "b", "c"],
    atOnce: 2,
    rules: none,
    runs: [["c"], ["b", "c"], ["a"]],
  },
  {
    name: "those that share something are not beside each other, and hold up no others",
    files: ["a", "b", "c"],
    atOnce: 2,
    rules: { shared: { port: ["b", "c"] }, alone: {} },
    runs: [["c"], ["a", "c"], ["b"]],
  },
  {
    name: "one that measures has nothing beside it, and comes last",
    files: ["a", "b", "c"],
    atOnce: 3,
    rules: { shared: {}, alone: { c: "time" } },
    runs: [["b"], ["a", "b"], ["c"]],
  },
  {
    name: "those that took longest begin, after those that have not run yet",
    files: ["a", "b", "c", "d"],
    atOnce: 1,
    rules: none,
    seconds: { a: 2, b: 1, d: 3 },
    runs: [["c"], ["d"], ["a"], ["b"]],
  },
  {
    name: "those that share something count with all that wait for them",
    files: ["a", "b", "c"],
    atOnce: 1,
    rules: { shared: { port: ["a", "b"] }, alone: {} },
    seconds: { a: 2, b: 2, c: 3 },
    runs: [["b"], ["a"], ["c"]],
  },
];

describe("the plan of a run", () => {
  for (const { name, files, atOnce, rules: given, seconds, runs: expected } of cases)
    it(name, async () => assert.deepEqual(await runs(files, atOnce, given, seconds), expected));

  it("names files that there are", async () => {
    const files = (await findTestFiles("integration")).map((file) => relative(root, file));
    for (const file of [...Object.values(rules.shared).flat(), ...Object.keys(rules.alone)])
      assert.ok(files.includes(file), file);
  });

  it("runs many unit test files in one process, and each file once", async () => {
    const files = (await findTestFiles("unit")).map((file) => relative(root, file));
    const groups = unitGroups(files);
    assert.deepEqual(groups.flat().toSorted(), files);
    for (const group of groups) assert.ok(group.length <= 32, `${group.length} files of ${group[0]}`);
    assert.ok(groups.length < files.length / 20, `${groups.length} processes`);
    for (const file of Object.keys(ownProcess))
      assert.ok(groups.some(([first, second]) => first === file && second === undefined));
    assert.deepEqual(unitGroups([]), []);
  });

  it("keeps hooks around each test within a suite where several files share a process", async () => {
    for (const file of await findTestFiles("unit"))
      if (ownProcess[relative(root, file)] === undefined)
        assert.doesNotMatch(readFileSync(file, "utf8"), /^(?:before|after)Each\(/m, relative(root, file));
  });

  it("runs two integration files a processor and one more, six at most", () => {
    assert.deepEqual(
      [1, 2, 8].map((processors) => limits("integration", processors).atOnce),
      [5, 5, 6],
    );
  });

  it("ends no file before the tests in it", async () => {
    for (const kind of ["unit", "integration"] as const)
      for (const file of await findTestFiles(kind))
        for (const [text, digits = ""] of readFileSync(file, "utf8").matchAll(/\btimeout: ([\d_]+)/g))
          assert.ok(Number(digits.replaceAll("_", "")) < limits(kind, 2).withinMs, `${relative(root, file)}: ${text}`);
  });
});
