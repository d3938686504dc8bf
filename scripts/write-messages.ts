/** Writes docs/messages.md from the table of messages and their examples; `--check` only compares. */
import { exampleOf } from "../packages/analysis/src/examples.fixture.ts";
import { createAnalyzers, messageList } from "../packages/analysis/src/index.ts";
import { writeOrCheck } from "./generated-file.ts";

const analyzers = createAnalyzers();

writeOrCheck({ file: "docs/messages.md", text: page(), from: "the table of messages", command: "pnpm messages" });

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
