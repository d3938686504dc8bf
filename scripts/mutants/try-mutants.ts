/**
 * Tries the mutants of one file: the nearest unit test files first, the farther ones for what these did not notice. A baseline run of
 * each group, with the file as it is, shows that its tests pass and which places of the file they run.
 */
import { applyMutant, type Mutant } from "./operators.ts";
import { type Coverage, runWithCoverage, runWithReplacement } from "./test-process.ts";

/** `time limit`: the tests did not end in their time, in which a busy machine may have a part. */
export type Outcome = "noticed" | "time limit" | "survived" | "not run";

export interface Trial {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** How it was noticed, or why it was not. */
  readonly detail: string;
}

export interface FileToTry {
  readonly file: string;
  readonly text: string;
  readonly mutants: readonly Mutant[];
  /** Nearest first. */
  readonly tests: readonly string[];
}

export interface Limits {
  /** Files of the first group, and of the second. */
  readonly near: number;
  readonly far: number;
  /** Lower bound for a group; a slow group has five times the time of its baseline. */
  readonly withinMs: number;
}

interface Group {
  readonly tests: readonly string[];
  readonly covers: Coverage;
  readonly withinMs: number;
}

const baselineWithinMs = 180_000;

export async function* tryMutants({ file, text, mutants, tests }: FileToTry, limits: Limits): AsyncIterable<Trial> {
  const stages = [tests.slice(0, limits.near), tests.slice(limits.near, limits.near + limits.far)];
  let open = mutants;
  const ran = new Set<Mutant>();
  const failing: string[] = [];
  for (const stage of stages) {
    if (stage.length === 0 || open.length === 0) continue;
    const groups = await baseline(stage, file, limits, failing);
    const survivors: Mutant[] = [];
    for (const mutant of open) {
      const covering = groups.filter(({ covers }) => covers(mutant.at));
      if (covering.length > 0) ran.add(mutant);
      const end = await notice(covering, mutant, { file, text });
      if (end === undefined) survivors.push(mutant);
      else yield { mutant, ...end };
    }
    open = survivors;
  }
  for (const mutant of open) {
    const detail = ran.has(mutant) ? "tests run it" : "no unit test runs it";
    if (failing.length > 0)
      yield {
        mutant,
        outcome: "not run",
        detail: `${failing.length} test files fail without a change, first ${failing[0]}`,
      };
    else yield { mutant, outcome: "survived", detail };
  }
}

/** Tests that fail together may pass alone; a file that fails alone takes no part. */
async function baseline(
  stage: readonly string[],
  file: string,
  { withinMs }: Limits,
  failing: string[],
): Promise<readonly Group[]> {
  const { end, seconds, covers } = await runWithCoverage(stage, file, baselineWithinMs);
  if (end === "passed") return [{ tests: stage, covers, withinMs: Math.max(withinMs, seconds * 5_000) }];
  const [only] = stage;
  if (stage.length === 1 && only !== undefined) {
    failing.push(only);
    return [];
  }
  const groups: Group[] = [];
  for (const test of stage) groups.push(...(await baseline([test], file, { withinMs, near: 1, far: 0 }, failing)));
  return groups;
}

async function notice(
  groups: readonly Group[],
  mutant: Mutant,
  { file, text }: Pick<FileToTry, "file" | "text">,
): Promise<Omit<Trial, "mutant"> | undefined> {
  for (const { tests, withinMs } of groups) {
    const replacement = { file, text: applyMutant(text, mutant) };
    const { end, errors } = await runWithReplacement(tests, replacement, withinMs);
    if (end === "failed") return { outcome: "noticed", detail: /failed: .*/.exec(errors)?.[0] ?? "failed" };
    if (end === "time limit") return { outcome: end, detail: `${(withinMs / 1_000).toFixed(0)} s` };
  }
  return undefined;
}
