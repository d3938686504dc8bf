/**
 * Runs one test file in a process group of its own and returns the outcome of each test. A file that does not end within its time
 * is ended with everything it started, and counts as failed: Node's own time-outs are those of tests, and a loop that a failed test
 * left running keeps its file open for ever.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./find-files.ts";

export interface TestOutcome {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
}

export interface FileOutcome {
  readonly file: string;
  readonly tests: readonly TestOutcome[];
  /** What the file printed, stdout and stderr in the order of their arrival. */
  readonly output: string;
  readonly seconds: number;
}

export interface RunFileOptions {
  /** Of the whole file. */
  readonly withinMs: number;
  /** Of each test and hook that has no time-out of its own, so that the one that hangs is named, not its file. */
  readonly testMs?: number;
  readonly env?: NodeJS.ProcessEnv;
}

const reporter = fileURLToPath(new URL("results-reporter.mjs", import.meta.url));

/**
 * Compiled modules are kept from one process to the next: test files and the services that they start load the same modules, and
 * compiling TypeScript is most of what a short process does.
 */
function withCompileCache(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"), ...env };
}

export async function runTestFile(file: string, options: RunFileOptions): Promise<FileOutcome> {
  const { withinMs, testMs = withinMs, env = process.env } = options;
  const directory = mkdtempSync(join(tmpdir(), "flotilla-tests-"));
  const results = join(directory, "results.jsonl");
  const started = performance.now();
  const child = spawn(
    process.execPath,
    [
      // A background compiler that waits for a collection, and an exit that waits for the background, wait for ever.
      "--no-concurrent-sparkplug",
      `--test-timeout=${testMs}`,
      ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
      ...[`--test-reporter=${reporter}`, `--test-reporter-destination=${results}`],
      file,
    ],
    { env: withCompileCache(env), stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, withinMs);
  const end = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearTimeout(timer);
  // Servers of a test that failed before it could stop them.
  endGroup(child.pid);
  const tests = readOutcomes(results);
  rmSync(directory, { recursive: true, force: true });
  const reason = isLate
    ? `the file did not end within ${withinMs / 1000} s and was ended`
    : end !== "exit code 0" && !tests.some(({ outcome }) => outcome === "failed")
      ? `the file ended with ${end}`
      : tests.length === 0
        ? "the file has no test"
        : undefined;
  const ofFile: readonly TestOutcome[] = reason === undefined ? [] : [{ name: "(file)", outcome: "failed", reason }];
  return { file, tests: [...tests, ...ofFile], output, seconds: (performance.now() - started) / 1000 };
}

function readOutcomes(file: string): readonly TestOutcome[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // The process ended before its reporter opened the file: the caller reports how it ended.
    return [];
  }
  // A process that was killed may leave half a line.
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as TestOutcome]));
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
