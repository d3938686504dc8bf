/** Runs unit test files in one process, with one module replaced or with V8's coverage. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { root } from "../tests/find-files.ts";
import { type RanRanges, readCoverage } from "./coverage.ts";

export interface TestRun {
  readonly end: "passed" | "failed" | "time limit";
  readonly seconds: number;
  /** Of a failed run the file whose test failed first. */
  readonly failedFile?: string;
  /** The last lines of standard error. */
  readonly errors: string;
}

export interface Replacement {
  readonly file: string;
  readonly text: string;
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
  const env = {
    FLOTILLA_MUTANT_URL: pathToFileURL(file).href,
    FLOTILLA_MUTANT_SOURCE: source,
    // Most of a short process is compiling; every mutant's tests load the same modules but one.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/mutants/compiled"),
  };
  return await run(tests, { env, withinMs });
}

/** @param isWanted of a module's URL */
export async function runWithCoverage(
  test: string,
  isWanted: (url: string) => boolean,
  withinMs: number,
): Promise<TestRun & { readonly coverage: ReadonlyMap<string, readonly RanRanges[]> }> {
  using directory = temporaryDirectory();
  // Coverage of functions out of a cache is less precise: no compile cache here.
  const outcome = await run([test], { env: { NODE_V8_COVERAGE: directory.path }, withinMs });
  return { ...outcome, coverage: readCoverage(directory.path, isWanted) };
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
  const failedFile = end === "failed" ? /^failed in (.*)$/m.exec(errors)?.[1] : undefined;
  const seconds = (performance.now() - started) / 1000;
  return { end, seconds, errors, ...(failedFile !== undefined && { failedFile }) };
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
