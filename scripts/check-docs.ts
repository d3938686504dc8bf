/**
 * Pages must not drift: every relative link and every path of the project that a page names exists, so does every file that the page of a
 * package or service names, and no merge was left half done.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandBlockProblems } from "./command-blocks.ts";
import { namedTestProblems } from "./named-tests.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tops = /^(?:packages|services|test|scripts|docs|k8s|samples|changes)\//;

const problems: string[] = [];
let pages = 0;
for await (const page of glob("**/*.md", { cwd: root, exclude: (name) => name === "node_modules" })) {
  pages++;
  const text = readFileSync(join(root, page), "utf8");
  if (/^(?:<{7}|>{7}) /m.test(text)) problems.push(`${page}: markers of a merge are left in it`);
  for (const target of linksOf(text)) {
    if (!existsSync(join(root, dirname(page), target))) problems.push(`${page}: the link ${target} leads nowhere`);
  }
  for (const path of pathsOf(text)) {
    if (!existsSync(join(root, path))) problems.push(`${page}: there is no ${path}`);
  }
  const [workspace] = /^(?:packages|services|test)\/[^/]+/.exec(page) ?? [];
  if (workspace === undefined) continue;
  const files = new Set<string>();
  for await (const file of glob("**/*.ts", { cwd: join(root, workspace) })) files.add(basename(file));
  for (const name of filesNamedIn(text))
    if (!files.has(name)) problems.push(`${page}: there is no ${name} in ${workspace}`);
}
problems.push(...namedTestProblems(root));
const generated = {
  "docs/settings.md": "scripts/write-settings.ts",
  "docs/cli.md": "scripts/write-cli.ts",
  "docs/metrics.md": "scripts/write-metrics.ts",
  "docs/messages.md": "scripts/write-messages.ts",
  "docs/api.md": "scripts/write-api.ts",
  "docs/security/who-writes.md": "scripts/write-access.ts",
  "docs/security/limits.md": "scripts/write-limits.ts",
};
problems.push(...(await commandBlockProblems(root, new Set(Object.keys(generated)))));
for (const [page, script] of Object.entries(generated)) {
  const check = spawnSync(process.execPath, [join(root, script), "--check"], { encoding: "utf8" });
  if (check.status !== 0) problems.push(`${page}: ${check.stdout}${check.stderr}`);
}
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(
  `${pages} pages\n${pages - new Set(problems.map((p) => p.split(":")[0])).size} passed, ${problems.length} failed\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

function linksOf(text: string): readonly string[] {
  return [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** Paths in code spans, without patterns and placeholders. */
function pathsOf(text: string): readonly string[] {
  return [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, path = ""]) => path.replace(/\/$/, ""))
    .filter((path) => tops.test(path) && !/[*<>{}…:]/.test(path));
}

/** Names of files in code spans and in drawings of a folder, without paths and patterns. */
function filesNamedIn(text: string): readonly string[] {
  return [...text.matchAll(/(?<![\w/.*-])[a-z][a-z0-9-]*(?:\.[a-z]+)*\.ts(?![\w/])/g)].map(([name]) => name);
}
