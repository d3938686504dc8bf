/**
 * `pnpm mutants [PATH…] [--sample N] [--from N] [--count N] [--seed N] [--changed [REV]] [--jobs N] [--tests N] [--near N]
 * [--far-seconds N] [--json] [--list]`: makes small wrong changes to source files, one at a time, and runs the unit tests that run the changed place. A
 * change that no test notices survives and is printed. docs/mutants.md explains.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { excuseOf, parseExcuses, staleExcuses } from "./mutants/excuses.ts";
import { openImportGraph } from "./mutants/import-graph.ts";
import { type Mutant, mutantsOf } from "./mutants/operators.ts";
import { formatResult, formatTable, type Result, rowsOf } from "./mutants/report.ts";
import { drawSample } from "./mutants/sample.ts";
import { changedLines, findSourceFiles, folderOf, mainRevision } from "./mutants/source-files.ts";
import { openTestRecords } from "./mutants/test-records.ts";
import { type Outcome, tryMutants } from "./mutants/try-mutants.ts";
import { findTestFiles, root } from "./tests/find-files.ts";

const { values, positionals } = parseArgs({
  args: withRevision(process.argv.slice(2)),
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    changed: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    near: { type: "string", default: "3" },
    tests: { type: "string", default: "1000" },
    "far-seconds": { type: "string", default: "60" },
    from: { type: "string", default: "0" },
    count: { type: "string" },
    json: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});
const excusesFile = join(root, "scripts/mutants/excuses.yaml");
const excuses = parseExcuses(readFileSync(excusesFile, "utf8"));
const texts = new Map<string, string>();
const changed = values.changed === undefined ? undefined : changedLines(root, values.changed);
const ofFiles = await collect();
const all = ofFiles.filter(isWanted);
const drawn = drawSample(all, values.sample === undefined ? all.length : Number(values.sample), Number(values.seed));
const from = Number(values.from);
const chosen = drawn.slice(from, values.count === undefined ? undefined : from + Number(values.count));
const stale = staleExcuses(excuses, ofFiles);
const results: Result[] = [];
if (values.list) for (const { file, line, before, after } of chosen) say(`${file}:${line}: ${before} → ${after}`);
else if (values.changed !== undefined && changed === undefined) reportNoBase(values.changed);
else if (chosen.length + stale.length === 0) say(whyNothing());
else {
  await run();
  report();
}

/** `--changed` alone compares with main; a clone for a branch has it as the remote's only. */
function withRevision(args: readonly string[]): string[] {
  return args.flatMap((arg, at) =>
    arg === "--changed" && (args[at + 1] ?? "--").startsWith("--") ? ["--changed", mainRevision(root)] : [arg],
  );
}

/** All mutants of the files of which some may be tried. */
async function collect(): Promise<readonly Mutant[]> {
  if (values.changed !== undefined && changed === undefined) return [];
  const mutants: Mutant[] = [];
  for (const file of await findSourceFiles(root, positionals)) {
    if (changed !== undefined && !changed.has(file)) continue;
    const text = readFileSync(join(root, file), "utf8");
    texts.set(file, text);
    mutants.push(...mutantsOf(file, text));
  }
  return mutants;
}

function isWanted({ file, line }: Mutant): boolean {
  return changed === undefined || changed.get(file)?.some(({ first, last }) => first <= line && line <= last) === true;
}

function whyNothing(): string {
  if (values.changed === undefined) return "nothing to try";
  return changed?.size === 0
    ? `no line of a source file differs from ${values.changed}`
    : `the lines that differ from ${values.changed} have no place to change`;
}

/** A clone without main, as of a single branch, is no fault of the change; any other revision was asked for by its name. */
function reportNoBase(revision: string): void {
  const isMain = revision === mainRevision(root);
  const what = isMain ? "neither main nor origin/main" : `no ${revision}`;
  say(`CHANGED LINES WERE NOT TRIED: this clone has ${what}, or too little history to find where they parted`);
  if (isMain) say("git fetch origin main:refs/remotes/origin/main brings it, with --unshallow in a shallow clone");
  else process.exitCode = 1;
}

async function run(): Promise<void> {
  const graph = openImportGraph(root, await findTestFiles("unit"));
  const ofFile = [...Map.groupBy(chosen, ({ file }) => file)].map(([file, mutants]) => {
    const tests = graph.testsOf(join(root, file)).slice(0, Number(values.tests));
    return { path: file, file: join(root, file), text: texts.get(file) ?? "", mutants, tests };
  });
  const cache = join(root, "node_modules/.cache/mutants/records");
  const records = openTestRecords({ root, directory: cache, withinMs: 180_000 });
  const far = { together: 8, farSeconds: Number(values["far-seconds"]) };
  const limits = { root, records, near: Number(values.near), ...far, withinMs: 10_000 };
  await inJobs(ofFile, async (trial) => {
    for await (const { mutant, outcome, detail } of tryMutants(trial, limits)) {
      const excuse = outcome === "survived" ? excuseOf(excuses, mutant) : undefined;
      const folder = folderOf(root, trial.path);
      const result = { mutant, outcome, detail, folder, ...(excuse && { reason: excuse.reason }) };
      results.push(result);
      if (!values.json) say(formatResult(result));
    }
  });
}

async function inJobs<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = [...list];
  await Promise.all(
    Array.from({ length: Number(values.jobs) }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
    }),
  );
}

function report(): void {
  const isOpen = new Set<Outcome>(["survived", "not run"]);
  const survivors = results.filter(({ outcome, reason }) => isOpen.has(outcome) && reason === undefined);
  const late = results.filter(({ outcome }) => outcome === "time limit");
  if (values.json)
    say(JSON.stringify({ seed: Number(values.seed), results, rows: rowsOf(results), stale }, undefined, 2));
  else {
    say(survivors.length === 0 ? "\nno survivors\n" : `\nsurvivors:\n${lines(survivors)}`);
    if (late.length > 0) say(`past the time limit:\n${lines(late)}`);
    for (const { file, before } of stale) say(`${file}: no change fits the excuse for "${before}" any more`);
    say(formatTable(results));
  }
  if (stale.length === 0 && (values.changed === undefined || survivors.length === 0)) return;
  process.exitCode = 1;
  if (survivors.length > 0 && !values.json)
    say(
      "Unit tests pass with each of these changes: write a test that fails, remove the line, or name the reason in scripts/mutants/excuses.yaml (docs/mutants.md)",
    );
}

function lines(some: readonly Result[]): string {
  return some.map((one) => `  ${formatResult(one)}\n`).join("");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
