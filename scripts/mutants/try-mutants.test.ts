/** Mutants of a small project: noticed, run but not noticed, never run, endless, and beside a test that fails by itself. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openImportGraph } from "./import-graph.ts";
import { mutantsOf } from "./operators.ts";
import { openTestRecords } from "./test-records.ts";
import { type Limits, type Trial, tryMutants } from "./try-mutants.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-mutants-test-"));
after(() => rmSync(directory, { recursive: true, force: true }));
const at = (name: string): string => join(directory, name);

const source = `export const isAdult = (age: number): boolean => age >= 18;
export function unused(a: number): boolean { return a === 1; }
export function count(to: number): number {
  let n = 0;
  while (n < to) n++;
  return n;
}
`;
writeFileSync(at("age.ts"), source);
writeFileSync(at("index.ts"), `export { isAdult, count } from "./age.ts"; export * from "./other.ts";`);
writeFileSync(
  at("middle.ts"),
  `import { count, isAdult } from "./index.ts"; export const adult = (age) => isAdult(age); export const counted = (to) => count(to);`,
);
writeFileSync(at("other.ts"), "export const other = 1;");
const head = `import assert from "node:assert/strict"; import { it } from "node:test";\n`;
writeFileSync(
  at("near.test.ts"),
  `${head}import { isAdult } from "./age.ts"; it("is adult", () => assert.ok(isAdult(20)));`,
);
writeFileSync(
  at("far.test.ts"),
  `${head}import { adult, counted } from "./middle.ts"; it("is no adult", () => assert.ok(!adult(3)));
it("counts", () => assert.equal(counted(2), 2));`,
);
writeFileSync(
  at("elsewhere.test.ts"),
  `${head}import { other } from "./index.ts"; it("is one", () => assert.equal(other, 1));`,
);
writeFileSync(
  at("typed.test.ts"),
  `${head}import type { isAdult } from "./age.ts"; it("is typed", () => assert.ok(true));`,
);
writeFileSync(
  at("spawning.test.ts"),
  `${head}import { spawnSync } from "node:child_process"; const program = new URL("program.ts", import.meta.url).pathname;
it("counts in a process", () => assert.equal(spawnSync(process.execPath, [program]).status, 2));`,
);
writeFileSync(at("program.ts"), `import { count } from "./age.ts"; process.exit(count(2));`);
const endless = "export function settled(a: number): number { while (a !== 3) Number(a); return a; }";
writeFileSync(at("endless.ts"), endless);
writeFileSync(
  at("endless.test.ts"),
  `${head}import { settled } from "./endless.ts"; it("ends", () => assert.equal(settled(3), 3));`,
);
writeFileSync(at("bad.test.ts"), `${head}import "./age.ts"; it("fails", () => assert.ok(false));`);

const records = openTestRecords({ root: directory, directory: at("records"), withinMs: 60_000 });
const limits = { root: directory, records, near: 1, together: 2, farSeconds: 60, withinMs: 5_000 };

async function outcomes(tests: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const mutants = mutantsOf("age.ts", source).filter(({ after }) => !after.includes("true") && after !== "undefined");
  const trial = { file: at("age.ts"), text: source, mutants, tests: tests.map(at) };
  for await (const { mutant, outcome, detail } of tryMutants(trial, limits))
    found.set(`${mutant.before} → ${mutant.after}`, outcome === "survived" ? detail : outcome);
  return found;
}

async function endlessOutcomes(given: Limits): Promise<readonly Trial[]> {
  const mutants = mutantsOf("endless.ts", endless).filter(({ after }) => after === "a === 3");
  const trial = { file: at("endless.ts"), text: endless, mutants, tests: [at("endless.test.ts")] };
  const found: Trial[] = [];
  for await (const one of tryMutants(trial, given)) found.push(one);
  return found;
}

describe("unit tests of a file", () => {
  it("are found by imports of values, nearest first", () => {
    const files = ["elsewhere", "far", "near", "spawning", "typed"].map((name) => at(`${name}.test.ts`));
    assert.deepEqual(
      openImportGraph(directory, files).testsOf(at("age.ts")),
      ["near", "far", "spawning"].map((name) => at(`${name}.test.ts`)),
    );
  });
});

describe("mutants of a file", () => {
  it("are noticed by near tests, by far ones, or survive; the file stays as it is", async () => {
    assert.deepEqual(Object.fromEntries(await outcomes(["near.test.ts", "far.test.ts"])), {
      "age >= 18 → age < 18": "noticed",
      "age >= 18 → age > 18": "2 test files run it",
      "age >= 18 → !(age >= 18)": "noticed",
      "a === 1 → a !== 1": "no unit test runs it",
      "a === 1 → !(a === 1)": "no unit test runs it",
      "n < to → false": "noticed",
      "n < to → n >= to": "noticed",
      "n < to → n <= to": "noticed",
    });
    assert.equal(readFileSync(at("age.ts"), "utf8"), source);
  });
  it("are noticed in a process that a test starts", async () => {
    const found = await outcomes(["spawning.test.ts"]);
    assert.deepEqual(
      [found.get("n < to → n <= to"), found.get("age >= 18 → age < 18")],
      ["noticed", "no unit test runs it"],
    );
  });
  it("are noticed where the tests end without the change only", async () => {
    const [found] = await endlessOutcomes(limits);
    assert.equal(found?.outcome, "noticed");
    assert.match(found.detail, /^did not end within 5 s, without the change in /);
  });
  it("are past the time limit where the tests do not end in it without the change either", async () => {
    const instantly = { of: async (test: string) => ({ ...(await records.of(test)), seconds: 0 }) };
    const [found] = await endlessOutcomes({ ...limits, records: instantly, withinMs: 10 });
    assert.equal(found?.outcome, "time limit");
  });
  it("are not run where the only tests fail without a change", async () => {
    assert.deepEqual(new Set((await outcomes(["bad.test.ts"])).values()), new Set(["not run"]));
  });
});
