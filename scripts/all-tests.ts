/**
 * `npm test`: every check of the project, each a step with its own time limit. All steps run, a
 * failed one does not stop the others; the last line counts tests in a form CI reads.
 */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly minutes: number;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const steps: readonly Step[] = [
  { name: "types", command: ["tsc", "--noEmit", "-p", "tsconfig.json"], minutes: 5 },
  { name: "lint", command: ["biome", "check", "--error-on-warnings", "."], minutes: 3 },
  { name: "code", command: ["node", "scripts/check-code.ts"], minutes: 3 },
  { name: "unused", command: ["knip", "--no-progress", "--no-config-hints"], minutes: 3 },
  { name: "house", command: ["node", "scripts/house.ts"], minutes: 2 },
  { name: "boundaries", command: ["node", "scripts/check-boundaries.ts"], minutes: 3 },
  { name: "generated code", command: ["node", "scripts/check-generated.ts"], minutes: 10 },
  { name: "supply", command: ["node", "scripts/supply.ts"], minutes: 2 },
  { name: "docs", command: ["node", "scripts/check-docs.ts"], minutes: 1 },
  { name: "deployment files", command: ["node", "scripts/check-deployment.ts"], minutes: 2 },
  { name: "unit", command: ["node", "scripts/run-tests.ts", "unit"], minutes: 15 },
  { name: "fuzz", command: ["node", "scripts/fuzz.ts", "--seconds", "3"], minutes: 5 },
  { name: "conformance", command: ["node", "test/conformance/src/main.ts", "--floors"], minutes: 15 },
  { name: "kubernetes", command: ["node", "scripts/build-kube.ts"], minutes: 40 },
  { name: "integration", command: ["node", "scripts/run-tests.ts", "integration"], minutes: 35 },
];

interface Outcome {
  readonly name: string;
  readonly ok: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** The step that runs, in a process group of its own: it ends with this process when a signal or its launcher ends that. */
let running: number | undefined;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => endWith(signal));
process.on("disconnect", () => endWith("SIGTERM"));
process.channel?.unref();

const wanted = process.argv.slice(2);
const outcomes: Outcome[] = [];
for (const step of steps) {
  if (wanted.length === 0 || wanted.includes(step.name)) outcomes.push(await runStep(step));
}
report(outcomes);

async function runStep({ name, command, minutes }: Step): Promise<Outcome> {
  process.stdout.write(`\n=== ${name}\n`);
  const started = performance.now();
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"], detached: true });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    process.stdout.write(chunk);
    output = (output + chunk.toString()).slice(-4000);
  });
  running = child.pid;
  const killAll = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  const timer = setTimeout(() => {
    process.stdout.write(`step ${name} did not end within ${minutes} minutes\n`);
    killAll();
  }, minutes * 60_000);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      process.stdout.write(`${error.message}\n`);
      resolve(null);
    });
    child.once("close", resolve);
  });
  clearTimeout(timer);
  running = undefined;
  const counts = /^(\d+) passed, (\d+) failed/m.exec(output);
  const [passed, failed] =
    counts === null ? [code === 0 ? 1 : 0, code === 0 ? 0 : 1] : [Number(counts[1]), Number(counts[2])];
  const ok = code === 0;
  return { name, ok, passed, failed: ok ? failed : Math.max(failed, 1), seconds: (performance.now() - started) / 1000 };
}

function endWith(signal: "SIGINT" | "SIGTERM" | "SIGHUP"): never {
  if (running !== undefined) process.kill(-running, "SIGKILL");
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
