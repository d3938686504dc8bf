/**
 * Layer rules, by dependency-cruiser. It reads TypeScript through an older compiler of its own (6.0), and with an unknown compiler it would
 * see no module and report success: too few modules fail. Checks the drawing of docs/architecture/layers.md, too; `--draw` makes it anew.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { drawLayers, folderCycles } from "./layers-drawing.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const fewestModules = 250;
const rules = createRequire(import.meta.url)("../dependency-cruiser.cjs");

process.chdir(root);
const { output } = await cruise(["packages", "services", "test"], {
  ...rules.options,
  ruleSet: { forbidden: rules.forbidden },
  validate: true,
});
const { summary, modules } = output as ICruiseResult;
for (const { from, to, rule } of summary.violations) {
  const comment = rules.forbidden.find(({ name }: { readonly name: string }) => name === rule.name)?.comment;
  process.stdout.write(`${rule.name}: ${from} → ${to}\n  ${comment}\n`);
}
const tooFew = summary.totalCruised < fewestModules;
if (tooFew)
  process.stdout.write(
    `only ${summary.totalCruised} modules were read, at least ${fewestModules} exist: the rules were not checked\n`,
  );
process.stdout.write(
  `${summary.totalCruised} modules, ${summary.totalDependenciesCruised ?? 0} dependencies, ${summary.violations.length} violations\n`,
);
const cycles = folderCycles(modules);
if (cycles.length > 0) process.stdout.write(`folders that need each other: ${cycles.join(", ")}\n`);
const page = "docs/architecture/layers.md";
const drawn = drawLayers(modules);
if (process.argv.includes("--draw")) writeFileSync(page, drawn);
const isDrawn = readFileSync(page, "utf8") === drawn;
if (!isDrawn) process.stdout.write(`${page} is out of date: node scripts/check-boundaries.ts --draw\n`);
process.exitCode = summary.violations.length > 0 || tooFew || cycles.length > 0 || !isDrawn ? 1 : 0;
