/** Generated code must be what the generators make of their inputs: they run again, and nothing may have changed. */
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The descriptor set itself is made by `pnpm gen` with Go; here its committed form is the input. */
const generators = [
  { folder: "packages/proto", command: ["node", "bin/gen.ts", "--code"] },
  { folder: "packages/kinds", command: ["node", "bin/gen.ts"] },
  { folder: "packages/validation", command: ["node", "bin/gen.ts"] },
];

let failed = 0;
for (const { folder, command } of generators) {
  const [program = "", ...args] = command;
  const run = spawnSync(program, args, { cwd: `${root}/${folder}`, encoding: "utf8" });
  if (run.status !== 0) {
    failed++;
    process.stdout.write(`${folder}: the generator failed\n${run.stderr}\n`);
    continue;
  }
  const { stdout } = spawnSync("git", ["status", "--porcelain", "--", `${folder}/src`], {
    cwd: root,
    encoding: "utf8",
  });
  const changed = stdout.split("\n").filter((line) => line.includes("/gen/") || line.includes("descriptors"));
  if (changed.length > 0) failed++;
  for (const line of changed) process.stdout.write(`${folder}: not what the generator makes: ${line.trim()}\n`);
}
process.stdout.write(`${generators.length - failed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
