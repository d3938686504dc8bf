/**
 * Runs test files in a process group of their own, one or several in one process, and returns the outcome of each test. A process that
 * does not end within its time is ended with everything it started, and counts as failed: Node's own time-outs are those of tests, and a
 * loop that a failed test left running keeps its process open for ever.
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
  /** Output of the file, stdout and stderr in the order of their arrival. */
  readonly output: string;
  readonly seconds: number;
  /** Of its process and all that this started and waited for: servers that were killed with their parent are missing. Undefined of files that shared a process, but for the first. */
  readonly processorSeconds?: number;
}

export interface RunFileOptions {
  /** Of the whole process. */
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
  const { output, lines, reason, seconds } = await runProcess([file], options);
  const tests = lines.flatMap(testOf);
  return {
    file,
    tests: [...tests, ...ofWhole("(file)", reason, tests.length)],
    output,
    seconds,
    ...processorOf(lines),
  };
}

/**
 * Several files in one process, one after the other: loading their modules once takes less time than most of them do. The process's output
 * is of the first file; the seconds of a file are those of its tests. Files whose tests a helper module defines, which Node counts as the
 * helper's, and all files of a process that failed as a whole run again, each by itself.
 */
export async function runTestGroup(files: readonly string[], options: RunFileOptions): Promise<readonly FileOutcome[]> {
  const alone = (file: string) => runTestFile(file, options);
  if (files.length === 1) return Promise.all(files.map(alone));
  const { output, lines, reason } = await runProcess(files, { ...options, withinMs: options.withinMs / 2 });
  const outcomes: FileOutcome[] = [];
  for (const [index, file] of files.entries()) {
    // Node counts a file without tests as a test of the file's name that passes.
    const own = lines.filter((line) => line.file === file && line.name !== file);
    const tests = own.flatMap(testOf);
    const seconds = own.reduce((sum, { ms = 0 }) => sum + ms, 0) / 1000;
    const isUnclear = reason !== undefined || tests.length === 0;
    const ofProcess = index === 0 ? { output, ...processorOf(lines) } : { output: "" };
    outcomes.push(isUnclear ? await alone(file) : { file, tests, seconds, ...ofProcess });
  }
  return outcomes;
}

interface ProcessResult {
  readonly lines: readonly ReportLine[];
  readonly output: string;
  /** Why the process failed as a whole. */
  readonly reason: string | undefined;
  readonly seconds: number;
}

async function runProcess(files: readonly string[], options: RunFileOptions): Promise<ProcessResult> {
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
      ...(files.length > 1 ? ["--test", "--test-isolation=none"] : []),
      ...files,
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
  const lines = readLines(results);
  rmSync(directory, { recursive: true, force: true });
  const what = files.length === 1 ? "the file" : `one of ${files.length} files in one process`;
  const reason = isLate
    ? `${what} did not end within ${withinMs / 1000} s and was ended`
    : end !== "exit code 0" && !lines.some(({ outcome }) => outcome === "failed")
      ? `${what} ended with ${end}`
      : undefined;
  return { lines, output, reason, seconds: (performance.now() - started) / 1000 };
}

/** A line of the reporter: of a test its outcome, of a suite its time alone, of the process its processor time. */
interface ReportLine extends Partial<TestOutcome> {
  readonly file?: string;
  readonly ms?: number;
  readonly processorMs?: number;
}

function processorOf(lines: readonly ReportLine[]): Pick<FileOutcome, "processorSeconds"> {
  const ms = lines.find(({ processorMs }) => processorMs !== undefined)?.processorMs;
  return ms === undefined ? {} : { processorSeconds: ms / 1000 };
}

function testOf({ name, outcome, reason }: ReportLine): readonly TestOutcome[] {
  if (name === undefined || outcome === undefined) return [];
  return [{ name, outcome, ...(reason !== undefined && { reason }) }];
}

function ofWhole(name: string, failure: string | undefined, tests: number): readonly TestOutcome[] {
  const reason = failure ?? (tests === 0 ? "the file has no test" : undefined);
  return reason === undefined ? [] : [{ name, outcome: "failed", reason }];
}

function readLines(file: string): readonly ReportLine[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // The process ended before its reporter opened the file: the caller reports how it ended.
    return [];
  }
  // A process that was killed may leave half a line.
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as ReportLine]));
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
