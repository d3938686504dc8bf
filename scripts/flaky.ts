/**
 * `pnpm flaky [NAME…] [--runs N] [--only quiet|loaded] [--at-once N]`: rounds of all integration files (or those whose path contains a NAME), N quiet
 * ones and N beside as many busy processes as the machine has processors. In a round files run beside each other as in `npm test`, and start services
 * from the bundle of the sources as they were at the beginning. Prints a line for each file of a round and a table by file at the end,
 * or as far as it got when it is interrupted. Fails when any run failed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { findTestFiles, root } from "./tests/find-files.ts";
import { expectedSeconds } from "./tests/last-run.ts";
import { limits, rules, runPlanned } from "./tests/plan.ts";
import { type FileOutcome, runTestFile } from "./tests/run-file.ts";
import { bundleServices } from "./tests/test-bundle.ts";

const loads = ["quiet", "loaded"] as const;
type Load = (typeof loads)[number];

/** Results of one file in the rounds of one load. */
interface Row {
  readonly file: string;
  readonly load: Load;
  readonly seconds: number[];
  /** The failed tests of each run that failed. */
  readonly failures: (readonly string[])[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string", default: "10" }, only: { type: "string" }, "at-once": { type: "string" } },
});
const planned = limits("integration", availableParallelism());
const atOnce = Number(values["at-once"] ?? planned.atOnce);
// Beside a load everything takes longer: a file that ends is not ended.
const withinMs: Readonly<Record<Load, number>> = { quiet: planned.withinMs, loaded: 2 * planned.withinMs };

process.env["FLOTILLA_TEST_BUNDLE"] ??= bundleServices();
const files = (await findTestFiles("integration", positionals)).map((file) => relative(root, file));
const secondsOf = expectedSeconds();
const rows = new Map<string, Row>();
process.once("SIGINT", () => process.exit(report()));
for (const load of loads.filter((one) => values.only === undefined || one === values.only)) {
  const busy = load === "loaded" ? startBusyProcesses() : [];
  for (let run = 1; run <= Number(values.runs); run++)
    await runPlanned(
      files,
      atOnce,
      async (file) => {
        const outcome = await runTestFile(join(root, file), { ...planned, withinMs: withinMs[load] });
        record(file, load, run, outcome);
      },
      rules,
      secondsOf,
    );
  for (const one of busy) one.kill("SIGKILL");
}
process.exitCode = report();

function record(file: string, load: Load, run: number, { tests, seconds, output }: FileOutcome): void {
  const key = `${load} ${file}`;
  const row = rows.get(key) ?? { file, load, seconds: [], failures: [] };
  rows.set(key, row);
  row.seconds.push(seconds);
  const failed = tests.filter(({ outcome }) => outcome === "failed");
  const texts = failed.map(({ name, reason = "" }) => `${load} run ${run}: ${name}: ${reason.split("\n", 1)[0]}`);
  if (failed.length > 0) {
    row.failures.push(texts);
    process.stdout.write(`${output}\n`);
  }
  process.stdout.write(`${load} ${run} ${file} ${seconds.toFixed(1)} s${failed.length > 0 ? " FAILED" : ""}\n`);
}

function startBusyProcesses(): readonly ChildProcess[] {
  // Each ends by itself when this process, whose end of the pipe is its standard input, is gone.
  const source =
    "process.stdin.on('end', () => process.exit()).resume(); (function spin() { const end = Date.now() + 50; while (Date.now() < end); setImmediate(spin); })();";
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["-e", source], { stdio: ["pipe", "ignore", "inherit"] }),
  );
}

/** Prints the table. @returns the exit code */
function report(): 0 | 1 {
  process.stdout.write("\n| file | load | runs | failed | time |\n|---|---|---|---|---|\n");
  const all = [...rows.values()].toSorted((a, b) => (`${a.load} ${a.file}` < `${b.load} ${b.file}` ? -1 : 1));
  for (const { file, load, seconds, failures } of all) {
    const [least, most] = [Math.min(...seconds), Math.max(...seconds)];
    const time = `${least.toFixed(1)} to ${most.toFixed(1)} s`;
    process.stdout.write(`| ${file} | ${load} | ${seconds.length} | ${failures.length} | ${time} |\n`);
  }
  const texts = all.flatMap(({ file, failures }) => failures.flat().map((text) => `${file}: ${text}`));
  if (texts.length > 0) process.stdout.write(`\n${texts.join("\n")}\n`);
  const runs = all.reduce((sum, { seconds }) => sum + seconds.length, 0);
  const failed = all.reduce((sum, { failures }) => sum + failures.length, 0);
  process.stdout.write(`\n${runs - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}
