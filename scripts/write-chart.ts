/** Writes the templates of k8s/chart; with --check, only whether they are those of k8s/base and its components. */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildTemplates } from "./chart/build-chart.ts";
import { root } from "./deployment/files.ts";

/** Written by hand. */
const own = new Set(["_helpers.tpl", "config.yaml", "mesh.yaml", "NOTES.txt"]);
const directory = join(root, "k8s/chart/templates");
const templates = buildTemplates(process.env["KUBECTL"] ?? "kubectl");
const stale = globSync("*", { cwd: directory }).filter((name) => !own.has(name) && !templates.has(name));

if (process.argv.includes("--check")) {
  const differing = [...templates].filter(([name, text]) => textOf(name) !== text).map(([name]) => name);
  const problems = [...differing, ...stale];
  for (const name of problems)
    process.stdout.write(`k8s/chart/templates/${name} is not what k8s/base gives: pnpm chart\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} else {
  for (const [name, text] of templates) writeFileSync(join(directory, name), text);
  for (const name of stale) rmSync(join(directory, name));
}

function textOf(name: string): string {
  return globSync(name, { cwd: directory }).length === 0 ? "" : readFileSync(join(directory, name), "utf8");
}
