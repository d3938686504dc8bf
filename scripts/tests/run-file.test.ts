/** Files of tests that pass, fail, are skipped, never end, or end before their time: each is counted and named. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runTestFile, runTestGroup } from "./run-file.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-run-file-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const head = `import { describe, it } from "node:test"; import { spawn } from "node:child_process";\n`;

const cases: readonly {
  readonly name: string;
  readonly source: string;
  readonly withinMs?: number;
  readonly outcomes: readonly (readonly [name: string, outcome: string, reason?: RegExp])[];
}[] = [
  {
    name: "a test that passes and one that fails",
    source: `it("good", () => {}); it("bad", () => { throw new Error("two is not one"); });`,
    outcomes: [
      ["good", "passed"],
      ["bad", "failed", /two is not one/],
    ],
  },
  {
    name: "a test and a suite that are skipped with a reason",
    source: `it("one", { skip: "no engine" }, () => {}); describe("many", { skip: "no cluster" }, () => { it("x", () => {}); });
      it("good", () => {});`,
    outcomes: [
      ["one", "skipped", /no engine/],
      ["many", "skipped", /no cluster/],
      ["good", "passed"],
    ],
  },
  {
    name: "a loop that goes on after its test",
    source: `it("good", () => { setInterval(() => {}, 1000); });`,
    withinMs: 2_000,
    outcomes: [
      ["good", "passed"],
      ["(file)", "failed", /did not end within 2 s/],
    ],
  },
  {
    name: "a child process that keeps the file's output open",
    source: `it("good", () => { spawn("sleep", ["60"], { stdio: "inherit" }); });`,
    withinMs: 2_000,
    outcomes: [
      ["good", "passed"],
      ["(file)", "failed", /did not end within 2 s/],
    ],
  },
  {
    name: "a process that ends in the middle",
    source: `it("never", async () => { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); });`,
    outcomes: [["(file)", "failed", /ended with SIGKILL/]],
  },
  {
    name: "a file that cannot be loaded",
    source: `import "./nothing-here.ts"; it("never", () => {});`,
    outcomes: [["(file)", "failed", /ended with exit code 1/]],
  },
  { name: "a file without tests", source: "", outcomes: [["(file)", "failed", /has no test/]] },
];

describe("a test file", () => {
  for (const [i, { name, source, withinMs = 60_000, outcomes }] of cases.entries())
    it(`is reported: ${name}`, async () => {
      const file = join(directory, `case-${i}.mjs`);
      writeFileSync(file, head + source);
      const { tests } = await runTestFile(file, { withinMs });
      assert.deepEqual(
        tests.map((test) => [test.name, test.outcome]),
        outcomes.map(([test, outcome]) => [test, outcome]),
      );
      for (const [at, [, , reason]] of outcomes.entries()) if (reason) assert.match(tests[at]?.reason ?? "", reason);
    });
});

it("counts the processor time of a file and of what it started", {
  skip: process.platform !== "linux" && "Linux counts it",
}, async () => {
  const spin = "while (process.cpuUsage().user < 200_000);";
  const file = join(directory, "spins.mjs");
  const source = `it("spins", async () => { ${spin}
    await new Promise((done) => spawn(process.execPath, ["-e", "${spin}"]).once("exit", done)); });`;
  writeFileSync(file, head + source);
  const { processorSeconds = 0 } = await runTestFile(file, { withinMs: 60_000 });
  assert.ok(processorSeconds >= 0.4, `${processorSeconds} s`);
});

describe("test files in one process", () => {
  const written = (name: string, source: string) => {
    const file = join(directory, name);
    writeFileSync(file, head + source);
    return file;
  };

  it("are reported each with its own tests and time", async () => {
    const files = [
      written("first.mjs", `it("good", () => {}); it("bad", () => { throw new Error("two is not one"); });`),
      written(
        "second.mjs",
        `describe("suite", () => { it("late", async () => { await new Promise((done) => setTimeout(done, 50)); }); });`,
      ),
      written("third.mjs", ""),
    ];
    const outcomes = await runTestGroup(files, { withinMs: 60_000 });
    assert.deepEqual(
      outcomes.map(({ file, tests }) => [file, tests.map(({ name, outcome }) => `${name} ${outcome}`)]),
      [
        [files[0], ["good passed", "bad failed"]],
        [files[1], ["late passed"]],
        [files[2], ["(file) failed"]],
      ],
    );
    assert.ok((outcomes[1]?.seconds ?? 0) >= 0.04, `${outcomes[1]?.seconds} s`);
  });

  it("run by themselves when their process did not end: only the one that keeps it open has failed", async () => {
    const files = [
      written("ends.mjs", `it("good", () => {});`),
      written("stays.mjs", `it("good", () => { setInterval(() => {}, 1000); });`),
    ];
    const [first, second] = await runTestGroup(files, { withinMs: 3_000 });
    assert.deepEqual(first?.tests, [{ name: "good", outcome: "passed" }]);
    assert.deepEqual(
      second?.tests.map(({ name, outcome }) => `${name} ${outcome}`),
      ["good passed", "(file) failed"],
    );
  });

  it("run by themselves when another module defines their tests", async () => {
    written("shared.mjs", `export function both() { it("one", () => {}); it("two", () => {}); }`);
    const uses = `import { both } from "./shared.mjs"; both();`;
    const files = [written("first.mjs", uses), written("second.mjs", uses)];
    const outcomes = await runTestGroup(files, { withinMs: 60_000 });
    assert.deepEqual(
      outcomes.map(({ tests }) => tests.map(({ name }) => name)),
      [
        ["one", "two"],
        ["one", "two"],
      ],
    );
  });
});
