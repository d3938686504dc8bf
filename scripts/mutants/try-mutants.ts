/**
 * Tries the mutants of one file with the unit test files that run the changed place: the nearest ones one by one, then the others, the
 * fastest first, several in a process. A mutant is noticed when a test file fails by itself.
 */
import { relative } from "node:path";
import { applyMutant, type Mutant } from "./operators.ts";
import { runWithReplacement, type TestRun } from "./test-process.ts";
import { runsPlace, type TestRecord, type TestRecords } from "./test-records.ts";

/** `time limit`: the tests did not end in their time, and it cannot be distinguished from a slow machine. */
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
  readonly root: string;
  readonly records: TestRecords;
  /** Test files that run by themselves, and of the others the most that run in one process. */
  readonly near: number;
  readonly together: number;
  /** Of the others, those that together took no longer than this by themselves. */
  readonly farSeconds: number;
  /** Lower bound for a process; slow tests have five times what they took. */
  readonly withinMs: number;
}

type End = Omit<Trial, "mutant">;

export async function* tryMutants(trial: FileToTry, limits: Limits): AsyncIterable<Trial> {
  for (const mutant of trial.mutants) yield { mutant, ...(await endOf({ ...trial, mutant }, limits)) };
}

interface MutantOfFile extends Pick<FileToTry, "file" | "text" | "tests"> {
  readonly mutant: Mutant;
}

/** Records are taken as they are needed: of most mutants the nearest tests are enough. */
async function endOf(change: MutantOfFile, limits: Limits): Promise<End> {
  const path = relative(limits.root, change.file);
  const covering: TestRecord[] = [];
  const failing: string[] = [];
  for (const test of change.tests) {
    const record = await limits.records.of(test);
    if (!record.isPassed) failing.push(relative(limits.root, test));
    else if (runsPlace(record, path, change.mutant.at)) covering.push(record);
    const isNear = covering.at(-1) === record && covering.length <= limits.near;
    const end = isNear ? await runGroup([record], change, limits) : undefined;
    if (end !== undefined) return end;
  }
  for (const group of farGroups(covering.slice(limits.near), limits)) {
    const end = await runGroup(group, change, limits);
    if (end !== undefined) return end;
  }
  if (failing.length > 0)
    return { outcome: "not run", detail: `${failing.length} test files fail without a change: ${failing[0]}` };
  const detail = covering.length > 0 ? `${covering.length} test files run it` : "no unit test runs it";
  return { outcome: "survived", detail };
}

function farGroups(covering: readonly TestRecord[], limits: Limits): readonly (readonly TestRecord[])[] {
  const far: TestRecord[][] = [];
  let seconds = 0;
  for (const record of covering.toSorted((a, b) => a.seconds - b.seconds)) {
    seconds += record.seconds;
    if (seconds > limits.farSeconds) break;
    const last = far.at(-1);
    if (last === undefined || last.length === limits.together) far.push([record]);
    else last.push(record);
  }
  return far;
}

/** Tests that pass by themselves may fail in one process with others: of several each is asked again. */
async function runGroup(group: readonly TestRecord[], change: MutantOfFile, limits: Limits): Promise<End | undefined> {
  const { file, text, mutant } = change;
  const withinMs = limitOf(group, limits);
  const run = await runWithReplacement(testsOf(group), { file, text: applyMutant(text, mutant) }, withinMs);
  if (run.end === "passed") return undefined;
  if (group.length === 1) return run.end === "failed" ? noticed(run) : await judgeLate(group, change, limits);
  const first = group.filter(({ test }) => test === run.failedFile);
  for (const record of [...first, ...group.filter((one) => !first.includes(one))]) {
    const end = await runGroup([record], change, limits);
    if (end !== undefined) return end;
  }
  return undefined;
}

/** Tests that end without the change, at once after it and in a third of the time, end because of it. */
async function judgeLate(group: readonly TestRecord[], { file, text }: MutantOfFile, limits: Limits): Promise<End> {
  const withinMs = limitOf(group, limits);
  const { end, seconds } = await runWithReplacement(testsOf(group), { file, text }, withinMs);
  const detail = `${(withinMs / 1_000).toFixed(0)} s`;
  if (end !== "passed" || seconds * 3_000 > withinMs) return { outcome: "time limit", detail };
  return { outcome: "noticed", detail: `did not end within ${detail}, without the change in ${seconds.toFixed(1)} s` };
}

function limitOf(group: readonly TestRecord[], { withinMs }: Limits): number {
  const seconds = group.reduce((sum, record) => sum + record.seconds, 0);
  return Math.max(withinMs, seconds * 5_000);
}

function testsOf(group: readonly TestRecord[]): readonly string[] {
  return group.map(({ test }) => test);
}

function noticed({ errors }: TestRun): End {
  return { outcome: "noticed", detail: /failed: .*/.exec(errors)?.[0] ?? "failed" };
}
