/**
 * Runs the tests of one kind: `run-tests.ts unit|integration [NAME…]`, where a NAME is a part of a file's path. Lists at the end what
 * failed, was skipped and passed only in a second run, each with the reason, and the files that took longest and computed most, and closes with
 * `N passed, N failed, N skipped`.
 */
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { findTestFiles, root } from "./tests/find-files.ts";
import { expectedSeconds, writeLastRun } from "./tests/last-run.ts";
import { limits, rules, runPlanned, unitGroups } from "./tests/plan.ts";
import { type FileOutcome, runTestGroup } from "./tests/run-file.ts";
import { runFailedAgain, type SecondRuns } from "./tests/second-run.ts";
import { bundleServices } from "./tests/test-bundle.ts";

const [kind = "unit", ...names] = process.argv.slice(2);
if (kind !== "unit" && kind !== "integration") {
  process.stderr.write(`run-tests.ts unit|integration [NAME…]: "${kind}" is neither\n`);
  process.exit(2);
}
const { atOnce, ...fileLimits } = limits(kind, availableParallelism());
if (kind === "integration" && names.length === 0) process.env["FLOTILLA_TEST_BUNDLE"] = bundleServices();
const files = (await findTestFiles(kind, names)).map((file) => relative(root, file));
const first: FileOutcome[] = [];
const groups = new Map(
  (kind === "unit" ? unitGroups(files) : files.map((file) => [file])).map((some) => [some[0] ?? "", some]),
);
const secondsOf = expectedSeconds();
await runPlanned(
  [...groups.keys()],
  atOnce,
  async (key) => void first.push(...(await runGroup(groups.get(key) ?? []))),
  rules,
  (key) => groups.get(key)?.reduce((sum, file) => sum + secondsOf(file), 0),
);
writeLastRun(new Map(first.map(({ file, seconds }) => [relative(root, file), seconds])));
// Unit tests depend on no clock and no other process: a failure there is a defect at once.
const again = kind === "integration" ? await runFailedAgain(first, (file) => run(relative(root, file))) : undefined;
report(again ?? { outcomes: first, unsteady: [] });

async function runGroup(group: readonly string[]): Promise<readonly FileOutcome[]> {
  const paths = group.map((file) => join(root, file));
  const outcomes = await runTestGroup(paths, fileLimits);
  for (const { file, seconds, processorSeconds, output } of outcomes)
    process.stdout.write(`${relative(root, file)} (${seconds.toFixed(1)} s)${computed(processorSeconds)}\n${output}`);
  return outcomes;
}

async function run(file: string): Promise<FileOutcome> {
  const [outcome] = await runGroup([file]);
  if (outcome === undefined) throw new RangeError(`${file} did not run`);
  return outcome;
}

function report({ outcomes, unsteady }: SecondRuns): void {
  const tests = outcomes.flatMap(({ file, tests: some }) =>
    some.map((test) => ({ ...test, file: relative(root, file) })),
  );
  const of = (outcome: string) => tests.filter((test) => test.outcome === outcome);
  for (const outcome of ["skipped", "failed"]) {
    if (of(outcome).length > 0) process.stdout.write(`\n${outcome}:\n`);
    for (const { file, name, reason = "no reason given" } of of(outcome))
      process.stdout.write(`  ${file}: ${name}: ${reason.split("\n", 1)[0]}\n`);
  }
  if (unsteady.length > 0) process.stdout.write("\nunsteady, passed when run again:\n");
  for (const { file, name, reason = "no reason given" } of unsteady)
    process.stdout.write(`  ${relative(root, file)}: ${name}: ${reason.split("\n", 1)[0]}\n`);
  list("slowest files", outcomes, ({ seconds }) => seconds);
  list("most processor time", outcomes, ({ processorSeconds = 0 }) => processorSeconds);
  const computing = outcomes.reduce((sum, { processorSeconds = 0 }) => sum + processorSeconds, 0);
  process.stdout.write(`\n${computing.toFixed(0)} s of processor time in all\n`);
  process.exitCode = of("failed").length === 0 && of("passed").length > 0 ? 0 : 1;
  process.stdout.write(
    `\n${of("passed").length} passed, ${of("failed").length} failed, ${of("skipped").length} skipped\n`,
  );
}

function computed(seconds: number | undefined): string {
  return seconds === undefined ? "" : `, ${seconds.toFixed(1)} s of processor time`;
}

function list(title: string, outcomes: readonly FileOutcome[], secondsOf: (outcome: FileOutcome) => number): void {
  process.stdout.write(`\n${title}:\n`);
  for (const outcome of outcomes.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, 10))
    process.stdout.write(`  ${secondsOf(outcome).toFixed(1).padStart(6)} s  ${relative(root, outcome.file)}\n`);
}
