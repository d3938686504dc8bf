/** Choice of mutants to try: samples that a seed draws again, lines of a diff, excuses and their end. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { excuseOf, parseExcuses, staleExcuses } from "./excuses.ts";
import { mutantsOf } from "./operators.ts";
import { formatTable, type Result } from "./report.ts";
import { drawSample } from "./sample.ts";
import { changedLines, folderOf, mainRevision, parseDiff } from "./source-files.ts";

const many = ["a", "b", "c", "d"].flatMap((file) => [1, 2, 3].map((line) => ({ file, line })));

describe("a sample", () => {
  it("is drawn again by its seed, and another by another seed", () => {
    assert.deepEqual(drawSample(many, 6, 7), drawSample(many, 6, 7));
    assert.notDeepEqual(drawSample(many, 6, 7), drawSample(many, 6, 8));
  });
  it("takes one of each file before a second of any", () => {
    assert.equal(new Set(drawSample(many, 4, 3).map(({ file }) => file)).size, 4);
    assert.equal(drawSample(many, 6, 3).length, 6);
  });
  it("is everything when it is not smaller", () => assert.deepEqual(drawSample(many, 12, 1), many));
});

describe("changed lines", () => {
  it("are those a diff adds, by file", () => {
    const diff = [
      ...["--- a/one.ts", "+++ b/one.ts", "@@ -3,2 +3,4 @@ f", "+x", "@@ -9 +12 @@", "+y", "@@ -20,2 +22,0 @@", "-z"],
      ...["--- a/gone.ts", "+++ /dev/null", "@@ -1,2 +0,0 @@"],
    ].join("\n");
    const ranges = [
      { first: 3, last: 6 },
      { first: 12, last: 12 },
    ];
    assert.deepEqual([...parseDiff(diff)], [["one.ts", ranges]]);
  });

  const directory = mkdtempSync(join(tmpdir(), "flotilla-changed-lines-"));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const git = (at: string, ...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd: at, stdio: "pipe" });
  const commit = (at: string, file: string, text: string) => {
    mkdirSync(join(at, "packages"), { recursive: true });
    writeFileSync(join(at, "packages", file), text);
    git(at, "add", ".");
    git(at, "commit", "-q", "-m", file);
  };
  const origin = join(directory, "origin");
  git(directory, "init", "-q", "-b", "main", origin);
  commit(origin, "old.ts", "1\n");
  const behind = execFileSync("git", ["rev-parse", "HEAD"], { cwd: origin, encoding: "utf8" }).trim();
  commit(origin, "main.ts", "1\n2\n");
  git(origin, "checkout", "-q", "-b", "work");
  commit(origin, "main.ts", "1\n3\n");

  const second = [["packages/main.ts", [{ first: 2, last: 2 }]]];
  const cases: readonly {
    readonly name: string;
    readonly steps: readonly (readonly string[])[];
    readonly from: string;
    readonly lines: readonly unknown[] | undefined;
  }[] = [
    {
      name: "a branch of a clone",
      steps: [
        ["checkout", "main"],
        ["checkout", "work"],
      ],
      from: "main",
      lines: second,
    },
    {
      name: "a detached commit, where the remote's main is known alone",
      steps: [
        ["checkout", "--detach", "origin/work"],
        ["branch", "-D", "work"],
      ],
      from: "origin/main",
      lines: second,
    },
    { name: "a branch beside an old main", steps: [["branch", "main", behind]], from: "origin/main", lines: second },
    { name: "main itself", steps: [["checkout", "main"]], from: "main", lines: [] },
    {
      name: "a clone that knows no main",
      steps: [
        ["checkout", "--detach"],
        ["branch", "-D", "work"],
        ["remote", "remove", "origin"],
      ],
      from: "main",
      lines: undefined,
    },
  ];
  for (const [at, { name, steps, from, lines }] of cases.entries())
    it(`of ${name} are those since ${from}: ${lines === undefined ? "not known" : lines.length}`, () => {
      const clone = join(directory, String(at));
      git(directory, "clone", "-q", origin, clone);
      for (const step of steps) git(clone, ...step);
      assert.equal(mainRevision(clone), from);
      const found = changedLines(clone, from);
      assert.deepEqual(found && [...found], lines);
    });
});

describe("an excuse", () => {
  const mutants = mutantsOf("a.ts", "if (a === b) f();");
  const entry = { file: "a.ts", before: "a === b", after: "true", reason: "both sides are the same object" };
  const [excuse] = parseExcuses(JSON.stringify([entry]));
  assert.ok(excuse);

  it("fits the change it names", () => {
    const excused = mutants.filter((mutant) => excuseOf([excuse], mutant) !== undefined);
    assert.deepEqual(
      excused.map(({ after }) => after),
      ["true"],
    );
  });
  it("is stale when its file has no such change any more, and not when the file was not read", () => {
    assert.deepEqual(staleExcuses([excuse], mutants), []);
    assert.deepEqual(staleExcuses([excuse], mutantsOf("a.ts", "if (a !== b) f();")), [excuse]);
    assert.deepEqual(staleExcuses([excuse], mutantsOf("b.ts", "if (a) f();")), []);
  });
  for (const reason of [undefined, "", "equal"])
    it(`is refused with the reason ${JSON.stringify(reason)}`, () =>
      assert.throws(() => parseExcuses(JSON.stringify([{ ...entry, reason }])), /reason/));
});

describe("the table", () => {
  it("counts by folder and leaves those past the time limit, excused and not run out of the share", () => {
    const [mutant] = mutantsOf("a.ts", "f();");
    assert.ok(mutant);
    const result = (outcome: Result["outcome"], reason?: string): Result => ({
      ...{ mutant, outcome, detail: "", folder: folderOf("/", "packages/pki/src/a.ts") },
      ...(reason !== undefined && { reason }),
    });
    const results = [result("noticed"), result("noticed"), result("noticed"), result("survived")];
    const uncounted = [result("time limit"), result("survived", "makes no difference"), result("not run")];
    const table = formatTable([...results, ...uncounted]);
    assert.match(table, /^\| packages\/pki \| 7 \| 3 \| 1 \| 1 \| 1 \| 1 \| 75 % \|$/m);
  });
});
