/** Runs unit test files in one process, with one module replaced or with V8's coverage. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface TestRun {
  readonly end: "passed" | "failed" | "time limit";
  readonly seconds: number;
  /** The last lines of standard error. */
  readonly errors: string;
}

export interface Replacement {
  readonly file: string;
  readonly text: string;
}

/** True for a place of the file that ran. */
export type Coverage = (at: number) => boolean;

interface V8Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
    }[];
  }[];
}

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export async function runWithReplacement(
  tests: readonly string[],
  { file, text }: Replacement,
  withinMs: number,
): Promise<TestRun> {
  using directory = temporaryDirectory();
  const source = join(directory.path, "module.ts");
  writeFileSync(source, text);
  const env = { FLOTILLA_MUTANT_URL: pathToFileURL(file).href, FLOTILLA_MUTANT_SOURCE: source };
  return await run(tests, { env, withinMs });
}

export async function runWithCoverage(
  tests: readonly string[],
  file: string,
  withinMs: number,
): Promise<TestRun & { readonly covers: Coverage }> {
  using directory = temporaryDirectory();
  const outcome = await run(tests, { env: { NODE_V8_COVERAGE: directory.path }, withinMs });
  return { ...outcome, covers: readCoverage(directory.path, pathToFileURL(file).href) };
}

async function run(
  tests: readonly string[],
  { env, withinMs }: { readonly env: NodeJS.ProcessEnv; readonly withinMs: number },
): Promise<TestRun> {
  const started = performance.now();
  // Unit tests may start processes of their own, which load the module too: the hook comes by NODE_OPTIONS.
  // A runner within a test of a runner runs nothing.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const options = `--import ${pathToFileURL(path("replace-module.mjs")).href}`;
  const child = spawn(
    process.execPath,
    [
      // See run-file.ts.
      "--no-concurrent-sparkplug",
      ...["--test", "--test-isolation=none", "--test-reporter-destination=stdout"],
      `--test-reporter=${path("first-failure-reporter.mjs")}`,
      ...tests,
    ],
    {
      env: { ...inherited, NODE_OPTIONS: options, ...env },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    },
  );
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-2_000);
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, withinMs);
  const isPassed = await new Promise<boolean>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code === 0));
  });
  clearTimeout(timer);
  // Children of a test that failed before it could stop them.
  endGroup(child.pid);
  const end = isLate ? "time limit" : isPassed ? "passed" : "failed";
  return { end, seconds: (performance.now() - started) / 1000, errors };
}

function readCoverage(directory: string, url: string): Coverage {
  const reports = readdirSync(directory)
    .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as V8Coverage)
    .flatMap(({ result }) => result.filter((script) => script.url === url));
  return (at) =>
    reports.some(({ functions }) => {
      const around = functions
        .flatMap(({ ranges }) => ranges)
        .filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset)
        .toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
      return (around[0]?.count ?? 0) > 0;
    });
}

function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-mutants-"));
  return { path: directory, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
