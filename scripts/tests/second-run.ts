/**
 * A file that failed is run a second time, by itself. A test that fails once and then passes is listed as unsteady with the reason of its
 * first failure, never dropped: it is a defect of the test or of the product, to be found by `pnpm flaky` (docs/decisions/0172).
 */
import type { FileOutcome, TestOutcome } from "./run-file.ts";

/** More failed files than this are a defect of the change, not chance: none is run again. */
export const mostFiles = 2;

interface UnsteadyTest {
  readonly file: string;
  readonly name: string;
  /** Of the first run. */
  readonly reason?: string;
}

export interface SecondRuns {
  /** Of each file its last run. */
  readonly outcomes: readonly FileOutcome[];
  readonly unsteady: readonly UnsteadyTest[];
}

/** @param run a file, and whatever is to be printed of it */
export async function runFailedAgain(
  first: readonly FileOutcome[],
  run: (file: string) => Promise<FileOutcome>,
): Promise<SecondRuns> {
  const failed = first.filter(({ tests }) => failures(tests).length > 0);
  if (failed.length === 0 || failed.length > mostFiles) return { outcomes: first, unsteady: [] };
  const outcomes = new Map(first.map((outcome) => [outcome.file, outcome]));
  const unsteady: UnsteadyTest[] = [];
  for (const { file, tests } of failed) {
    const second = await run(file);
    outcomes.set(file, second);
    const stillFailing = new Set(failures(second.tests).map(({ name }) => name));
    for (const { name, reason } of failures(tests))
      if (!stillFailing.has(name)) unsteady.push({ file, name, ...(reason !== undefined && { reason }) });
  }
  return { outcomes: [...outcomes.values()], unsteady };
}

function failures(tests: readonly TestOutcome[]): readonly TestOutcome[] {
  return tests.filter(({ outcome }) => outcome === "failed");
}
