/** Writes docs/cli.md from the definitions of the commands; `--check` only compares. */
import { commands } from "../packages/cli/src/commands.ts";
import { type CommandDefinition, optionText } from "../packages/cli/src/parse/definition.ts";
import { exitCodes } from "../packages/cli/src/parse/terminal.ts";
import { writeOrCheck } from "./generated-file.ts";

const installation = `## Installation

The command needs Node 24. \`npm pack\` in \`packages/cli\` writes \`flotilla-VERSION.tgz\`; \`npm install -g flotilla-VERSION.tgz\` installs it, and
\`npx --package=./flotilla-VERSION.tgz flotilla\` runs it without. In a clone that \`npm start\` or \`npm test\` has set up it is in
\`node_modules/.bin\`, with a Node 24 beside it: \`export PATH="/path/to/flotilla/node_modules/.bin:$PATH"\`. \`npm run flotilla --\` is the same within the
clone, and sets it up. The single executable \`flotilla-VERSION-linux-x64\` (or \`-linux-arm64\`) of a release needs no Node: it unpacks itself when it runs
for the first time, below \`~/.cache/flotilla\` or the directory that FLOTILLA_CACHE names.

## Which control plane

Commands find the control plane that \`flotilla up\` or \`flotilla serve\` started by \`--work-dir\`. \`--url http://HOST\` reaches one on a host whose
services listen on their default ports, as with Compose; \`--url SERVICE=URL\` and \`--url api=URL\` name single addresses. The API asks for a
token (\`--token-file\`) and is verified by \`--root-file\`; both come from the work directory where there is one. \`--context\` reaches one in a cluster by
forwarded ports of its pods; objects are written to Kubernetes' own API there.`;

writeOrCheck({ file: "docs/cli.md", text: page(), from: "the definitions of the commands", command: "pnpm cli-page" });

function page(): string {
  const codes = rows(Object.entries(exitCodes));
  return [
    "# Command line\n\nWritten by `pnpm cli-page` from the definitions of the commands. `flotilla COMMAND --help` shows the same.",
    installation,
    `## Exit codes\n\n| code | meaning |\n|---|---|\n${codes}`,
    ...commands.map(({ definition }) => section(definition)),
  ].join("\n\n");
}

function section({ name, operands, options, summary, details, examples, exitCodes: own }: CommandDefinition): string {
  const syntax = Object.values(operands).map((operand) => ` ${operand.syntax}`);
  const help = [
    ...Object.values(operands).map((operand) => [code(operand.syntax), operand.help] as const),
    ...Object.values(options).map((option) => [code(option.flags), optionText(option)] as const),
  ];
  return [
    `## ${name}\n\n    flotilla ${name}${syntax.join("")}`,
    `${sentence(summary)}${details === undefined ? "" : ` ${details}`}`,
    ...(help.length === 0 ? [] : [`| argument, option | meaning |\n|---|---|\n${rows(help)}`]),
    ...(own === undefined ? [] : [`| exit code | meaning |\n|---|---|\n${rows(Object.entries(own))}`]),
    ...(examples.length === 0 ? [] : [`Examples:\n\n${examples.map(exampleText).join("\n")}`]),
  ].join("\n\n");
}

function exampleText([line, purpose]: readonly [string, string]): string {
  return `    flotilla ${line}    # ${purpose}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function rows(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, meaning]) => `| ${cell(name)} | ${cell(meaning)} |`).join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
