/** Writes docs/security/limits.md from the settings and constants that bound what one client can take; `--check` only compares it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeSettings } from "@flotilla/runtime";
import { type Bound, clientLimits, type Limit } from "./limits-table.ts";
import { settingsTables } from "./settings-tables.ts";

const root = join(import.meta.dirname, "..");
const file = "docs/security/limits.md";
const path = join(root, file);
if (!process.argv.includes("--check")) writeFileSync(path, page());
else if (readFileSync(path, "utf8") !== page()) {
  process.stdout.write(`${file} is not what settings and constants say: run node scripts/write-limits.ts\n`);
  process.exitCode = 1;
}

function page(): string {
  const rows = clientLimits.map(rowOf).join("\n");
  return `# What one client can take

Written by \`node scripts/write-limits.ts\` from settings and constants. Settings in capitals can be changed (docs/settings.md), constants stand
in the file that is named.

| resource | bound | what happens at it | test |
|---|---|---|---|
${rows}
`;
}

function rowOf({ resource, bounds, effect, test: [testFile, title] }: Limit): string {
  return `| ${resource} | ${bounds.map(boundText).join("; ")} | ${effect} | \`${testFile}\`: "${title}" |`;
}

function boundText(bound: Bound): string {
  if ("setting" in bound) {
    const row = describeSettings(settingsTables[bound.service] ?? {}).find(({ env }) => env === bound.setting);
    if (row === undefined) throw new Error(`${bound.service} has no setting ${bound.setting}`);
    return `${bound.setting}: ${row.default}`;
  }
  return `${formatted(constantOf(bound.file, bound.constant))} ${bound.unit} (\`${bound.file}\`)`;
}

/** A product of whole numbers, as constants are written. */
function constantOf(from: string, name: string): number {
  const text = readFileSync(join(root, from), "utf8");
  const found = text.split("\n").find((line) => line.includes(`const ${name} = `));
  const product = found?.split(" = ")[1]?.replace(";", "").split(" * ");
  const value = product?.reduce((all, factor) => all * Number(factor.replaceAll("_", "")), 1);
  if (value === undefined || !Number.isFinite(value)) throw new Error(`${from} has no number ${name}`);
  return value;
}

function formatted(value: number): string {
  return value.toLocaleString("en-US");
}
