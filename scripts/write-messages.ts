/** Writes docs/messages.md from the table of messages and their examples; `--check` only compares. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exampleOf } from "../packages/analysis/src/examples.fixture.ts";
import { createAnalyzers, messageList } from "../packages/analysis/src/index.ts";

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/messages.md");
const analyzers = createAnalyzers();

const text = page();
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  process.stdout.write("docs/messages.md differs from the table of messages: run pnpm messages\n");
  process.exitCode = 1;
}

function page(): string {
  const rows = messageList.map(({ code, name, level }) => `| [${code}](#${anchor(code, name)}) | ${name} | ${level} |`);
  return [
    "# Messages of analysis\n\nWritten by `pnpm messages` from the table of messages and their examples. Codes that begin with IST are those of `istioctl analyze`; docs/analysis.md has how they are asked for.",
    `| code | name | level |\n|---|---|---|\n${rows.join("\n")}`,
    ...messageList.map(section),
  ]
    .join("\n\n")
    .concat("\n");
}

function section({ code, name, level, template, description }: (typeof messageList)[number]): string {
  const by = analyzers.filter(({ messages }) => messages.some((one) => one === name)).map((one) => `\`${one.name}\``);
  const example = exampleOf(code);
  return [
    `## ${code} ${name}`,
    `${level}: \`${template}\``,
    description,
    ...(by.length === 0 ? [] : [`Found by ${by.join(", ")}.`]),
    ...(example === undefined ? [] : ["With the finding:", yaml(example.bad), "Fixed:", yaml(example.good)]),
  ].join("\n\n");
}

function yaml(objects: string): string {
  return `\`\`\`yaml\n${objects.trimEnd()}\n\`\`\``;
}

function anchor(code: string, name: string): string {
  return `${code}-${name}`.toLowerCase();
}
