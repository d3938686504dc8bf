/**
 * `pnpm flaky [NAME…] [--runs N] [--only quiet|loaded]`: every integration file (or those whose path contains a NAME) N times quiet,
 * and N times beside as many busy processes as the machine has processors. Prints a table by file, and fails when any run failed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { parseArgs } from "node:util";
import { findTestFiles, root } from "./tests/find-files.ts";
import { type FileOutcome, runTestFile } from "./tests/run-file.ts";

const loads = ["quiet", "loaded"] as const;
type Load = (typeof loads)[number];

// Beside a load everything takes longer: a file that ends is not ended.
const withinMs: Readonly<Record<Load, number>> = { quiet: 300_000, loaded: 600_000 };

interface Row {
  readonly file: string;
  readonly load: Load;
  readonly runs: number;
  readonly failures: readonly string[];
  readonly seconds: readonly number[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "10" }, only: { type: "string" } },
});
const runs = Number(values.runs);
const files = await findTestFiles("integration", positionals);
const rows: Row[] = [];
for (const load of loads.filter((one) => values.only === undefined || one === values.only)) {
  const busy = load === "loaded" ? startBusyProcesses() : [];
  for (const file of files) rows.push(await repeat(file, load));
  for (const one of busy) one.kill("SIGKILL");
}
report(rows);

async function repeat(file: string, load: Load): Promise<Row> {
  const failures: string[] = [];
  const seconds: number[] = [];
  for (let run = 1; run <= runs; run++) {
    const outcome = await runTestFile(file, { withinMs: withinMs[load] });
    seconds.push(outcome.seconds);
    const failed = failedTests(outcome);
    failures.push(...failed.map((text) => `run ${run}: ${text}`));
    if (failed.length > 0) process.stdout.write(`${outcome.output}\n`);
  }
  const row = { file: relative(root, file), load, runs, failures, seconds };
  process.stdout.write(`${format(row)}\n`);
  return row;
}

function failedTests({ tests }: FileOutcome): readonly string[] {
  return tests
    .filter(({ outcome }) => outcome === "failed")
    .map(({ name, reason = "" }) => `${name}: ${reason.split("\n", 1)[0]}`);
}

function startBusyProcesses(): readonly ChildProcess[] {
  // Each ends by itself when this process, whose end of the pipe is its standard input, is gone.
  const source =
    "process.stdin.on('end', () => process.exit()).resume(); (function spin() { const end = Date.now() + 50; while (Date.now() < end); setImmediate(spin); })();";
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", source], { stdio: ["pipe", "ignore", "inherit"] }),
  );
}

function format({ file, load, runs: all, failures, seconds }: Row): string {
  const sorted = seconds.toSorted((a, b) => a - b);
  const [least = 0, most = 0] = [sorted[0], sorted.at(-1)];
  const failed = new Set(failures.map((text) => text.split(":", 1)[0])).size;
  return `| ${file} | ${load} | ${all} | ${failed} | ${least.toFixed(1)} to ${most.toFixed(1)} s |`;
}

function report(all: readonly Row[]): void {
  process.stdout.write("\n| file | load | runs | failed | time |\n|---|---|---|---|---|\n");
  for (const row of all) process.stdout.write(`${format(row)}\n`);
  const failures = all.flatMap(({ file, failures: texts }) => texts.map((text) => `${file}: ${text}`));
  if (failures.length > 0) process.stdout.write(`\n${failures.join("\n")}\n`);
  const failedRuns = all.reduce((sum, row) => sum + new Set(row.failures.map((text) => text.split(":", 1)[0])).size, 0);
  const total = all.length * runs;
  process.stdout.write(`\n${total - failedRuns} passed, ${failedRuns} failed\n`);
  process.exitCode = failedRuns === 0 ? 0 : 1;
}
