/**
 * Writes docs/settings.md and the list of all settings' names from the services' settings tables; `--check` only compares them.
 */
import { describeSettings } from "@flotilla/runtime";
import { writeOrCheck } from "./generated-file.ts";
import { settingsTables } from "./settings-tables.ts";

/** Read by the command `flotilla` itself. */
const commandLine = ["PILOT_AGENT"];
const files = new Map([
  ["docs/settings.md", page()],
  ["packages/runtime/src/settings/known-settings.json", names()],
]);
for (const [file, text] of files) writeOrCheck({ file, text, from: "the settings tables", command: "pnpm settings" });

/** One a line, so that a new one is a line of a diff. */
function names(): string {
  const all = Object.values(settingsTables).flatMap((table) =>
    Object.values(table).flatMap(({ env, alias }) => (alias === undefined ? [env] : [env, alias])),
  );
  return `${JSON.stringify([...new Set([...all, ...commandLine])].sort(), undefined, 2)}\n`;
}

function page(): string {
  const sections = Object.entries(settingsTables).map(([service, table]) => {
    const rows = describeSettings(table).map(
      ({ env, alias, default: value, sentence }) =>
        `| ${alias === undefined ? env : `${env}, ${alias}`} | ${cell(value)} | ${cell(sentence)} |`,
    );
    return `## ${service}\n\n| setting | default | what it does |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Settings\n\nWritten by \`pnpm settings\` from each service's table. Settings are environment variables.\n\n${sections.join("\n")}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
