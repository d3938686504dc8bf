/**
 * Runs the tests of one kind: `run-tests.ts unit|integration [NAME…]`, where a NAME is a part of a file's path. Lists at the end what
 * failed and what was skipped with the reason, and closes with `N passed, N failed, N skipped`.
 */
import { relative } from "node:path";
import { findTestFiles, root, type TestKind } from "./tests/find-files.ts";
import { type FileOutcome, runTestFile } from "./tests/run-file.ts";

// Integration tests share two cores with the servers they start: one file at a time.
const kinds: Readonly<Record<TestKind, { readonly atOnce: number; readonly withinMs: number }>> = {
  unit: { atOnce: 2, withinMs: 120_000 },
  integration: { atOnce: 1, withinMs: 300_000 },
};

const [kind = "unit", ...names] = process.argv.slice(2);
if (kind !== "unit" && kind !== "integration") {
  process.stderr.write(`run-tests.ts unit|integration [NAME…]: "${kind}" is neither\n`);
  process.exit(2);
}
const { atOnce, withinMs } = kinds[kind];
const waiting = [...(await findTestFiles(kind, names))];
const outcomes: FileOutcome[] = [];
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const outcome = await runTestFile(file, { withinMs });
      outcomes.push(outcome);
      process.stdout.write(`${relative(root, file)} (${outcome.seconds.toFixed(1)} s)\n${outcome.output}`);
    }
  }),
);
report(outcomes);

function report(files: readonly FileOutcome[]): void {
  const tests = files.flatMap(({ file, tests: all }) => all.map((test) => ({ ...test, file: relative(root, file) })));
  const of = (outcome: string) => tests.filter((test) => test.outcome === outcome);
  for (const outcome of ["skipped", "failed"]) {
    if (of(outcome).length > 0) process.stdout.write(`\n${outcome}:\n`);
    for (const { file, name, reason = "no reason given" } of of(outcome))
      process.stdout.write(`  ${file}: ${name}: ${reason.split("\n", 1)[0]}\n`);
  }
  process.exitCode = of("failed").length === 0 && of("passed").length > 0 ? 0 : 1;
  process.stdout.write(
    `\n${of("passed").length} passed, ${of("failed").length} failed, ${of("skipped").length} skipped\n`,
  );
}
