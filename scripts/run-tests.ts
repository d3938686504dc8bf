/**
 * Runs the tests of one kind with Node's test runner: `unit` is every `*.test.ts`, `integration`
 * every `*.integration.test.ts` (they start real servers). Ends with `N passed, N failed`.
 */
import { glob } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const kind = process.argv[2] === "integration" ? "integration" : "unit";
const suffix = ".integration.test.ts";

const files: string[] = [];
for (const pattern of [
  "packages/*/src/**/*.test.ts",
  "services/*/src/**/*.test.ts",
  "test/**/*.test.ts",
  "scripts/*.test.ts",
]) {
  for await (const file of glob(pattern, { cwd: root, exclude: (name) => name === "node_modules" })) {
    if (file.endsWith(suffix) === (kind === "integration")) files.push(join(root, file));
  }
}

const counts = { passed: 0, failed: 0, skipped: 0 };
// Integration tests share two cores with the servers they start: one file at a time.
const stream = run({
  files: files.sort(),
  concurrency: kind === "unit" ? 2 : 1,
  timeout: kind === "unit" ? 120_000 : 600_000,
  // A background compiler that waits for a collection, and an exit that waits for the background, wait for ever.
  execArgv: ["--no-concurrent-sparkplug"],
});
stream.on("test:pass", ({ skip, details }) => {
  if (details.type === "suite") return;
  if (skip === undefined) counts.passed++;
  else counts.skipped++;
});
stream.on("test:fail", ({ details }) => {
  if (details.type !== "suite") counts.failed++;
});
stream.compose(new spec()).pipe(process.stdout);
stream.on("end", () => {
  process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
  process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
});
