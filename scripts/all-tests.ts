/**
 * `npm test`: every check of the project, each a step with its own time limit. All steps run, a
 * failed one does not stop the others; the last line counts tests in a form CI reads. Steps that use all processors run by themselves, the others
 * one at a time in what the integration tests leave of the processors; what those print is shown when they and the integration tests have ended.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly minutes: number;
  /**
   * `alone`: uses all processors, or changes files that others read. `waiting`: begins alone, and as it waits for servers a part of the time,
   * those of one processor that come after it run beside it, one at a time and at a low priority.
   */
  readonly runs?: "alone" | "waiting";
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const steps: readonly Step[] = [
  // Builds what tests would build otherwise.
  { name: "size of the page", command: ["node", "scripts/check-page-size.ts"], minutes: 2, runs: "alone" },
  { name: "generated code", command: ["node", "scripts/check-generated.ts"], minutes: 10, runs: "alone" },
  { name: "unit", command: ["node", "scripts/run-tests.ts", "unit"], minutes: 15, runs: "alone" },
  // Of lines that differ from main: nothing on main itself.
  { name: "changed lines", command: ["node", "scripts/mutants.ts", "--changed"], minutes: 30, runs: "alone" },
  { name: "kubernetes", command: ["node", "scripts/build-kube.ts"], minutes: 40, runs: "alone" },
  { name: "integration", command: ["node", "scripts/run-tests.ts", "integration"], minutes: 35, runs: "waiting" },
  { name: "types", command: ["tsc", "--noEmit", "-p", "tsconfig.json"], minutes: 20 },
  { name: "types of the page", command: ["tsc", "--noEmit", "-p", "packages/console/tsconfig.json"], minutes: 20 },
  { name: "fuzz", command: ["node", "scripts/fuzz.ts", "--seconds", "15"], minutes: 10 },
  { name: "conformance", command: ["node", "test/conformance/src/main.ts", "--floors"], minutes: 30 },
  { name: "lint", command: ["biome", "check", "--error-on-warnings", "."], minutes: 20 },
  { name: "code", command: ["node", "scripts/check-code.ts"], minutes: 20 },
  { name: "house", command: ["node", "scripts/house.ts"], minutes: 20 },
  { name: "boundaries", command: ["node", "scripts/check-boundaries.ts"], minutes: 20 },
  { name: "supply", command: ["node", "scripts/supply.ts"], minutes: 20 },
  { name: "docs", command: ["node", "scripts/check-docs.ts"], minutes: 20 },
  { name: "deployment files", command: ["node", "scripts/check-deployment.ts"], minutes: 20 },
];

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** The steps that run, each in a process group of its own: they end with this process when a signal or its launcher ends that. */
const running = new Set<number>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => endWith(signal));
process.on("disconnect", () => endWith("SIGTERM"));
process.channel?.unref();

const wanted = process.argv.slice(2);
const outcomes = await runSteps(steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name)));
report(outcomes);

/** In their order; the outcomes too. */
async function runSteps(all: readonly Step[]): Promise<readonly Outcome[]> {
  const started: Promise<Outcome>[] = [];
  const open = new Set<Promise<Outcome>>();
  let waiting: Promise<Outcome> | undefined;
  for (const step of all) {
    while (open.size >= (step.runs === undefined ? 2 : 1)) await Promise.race(open);
    const run = runStep(step, step.runs === undefined ? waiting : undefined);
    if (step.runs === "waiting") waiting = run;
    started.push(run);
    open.add(run);
    void run.then(() => open.delete(run));
    if (step.runs === "alone") await run;
  }
  return Promise.all(started);
}

/** @param beside the step whose output is being shown, and which goes first */
async function runStep({ name, command, minutes, runs }: Step, beside?: Promise<unknown>): Promise<Outcome> {
  const shown: (string | Buffer)[] = [];
  const show = (text: string | Buffer) => {
    if (runs === undefined) shown.push(text);
    else process.stdout.write(text);
  };
  show(`\n=== ${name}\n`);
  const started = performance.now();
  const [program = "", ...args] = beside === undefined ? command : ["nice", "-n", "10", ...command];
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    show(chunk);
    output = (output + chunk.toString()).slice(-4000);
  });
  child.stderr.on("data", show);
  if (child.pid !== undefined) running.add(child.pid);
  const killAll = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  const timer = setTimeout(() => {
    show(`step ${name} did not end within ${minutes} minutes\n`);
    killAll();
  }, minutes * 60_000);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      show(`${error.message}\n`);
      resolve(null);
    });
    child.once("close", resolve);
  });
  clearTimeout(timer);
  if (child.pid !== undefined) running.delete(child.pid);
  const seconds = (performance.now() - started) / 1000;
  void (beside ?? Promise.resolve()).then(() => {
    for (const text of shown) process.stdout.write(text);
  });
  const counts = /^(\d+) passed, (\d+) failed/m.exec(output);
  const [passed, failed] =
    counts === null ? [code === 0 ? 1 : 0, code === 0 ? 0 : 1] : [Number(counts[1]), Number(counts[2])];
  const ok = code === 0;
  return { name, ok, passed, failed: ok ? failed : Math.max(failed, 1), seconds };
}

function endWith(signal: "SIGINT" | "SIGTERM" | "SIGHUP"): never {
  for (const pid of running) process.kill(-pid, "SIGKILL");
  process.exit(128 + constants.signals[signal]);
}

function report(all: readonly Outcome[]): void {
  process.stdout.write("\n");
  for (const { name, ok, passed, failed, seconds } of all) {
    process.stdout.write(
      `${ok ? "ok  " : "FAIL"} ${name.padEnd(18)} ${passed} passed, ${failed} failed  ${seconds.toFixed(1)} s\n`,
    );
  }
  const sum = (pick: (outcome: Outcome) => number) => all.reduce((total, outcome) => total + pick(outcome), 0);
  process.stdout.write(`\n${sum((o) => o.passed)} passed, ${sum((o) => o.failed)} failed\n`);
  process.exitCode = all.every(({ ok }) => ok) ? 0 : 1;
}
