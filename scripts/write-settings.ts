/** Writes docs/settings.md from the services' settings tables; `--check` only tells whether it is up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeSettings } from "@flotilla/runtime";
import { settingsTables } from "./settings-tables.ts";

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/settings.md");
const text = page();
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  process.stdout.write("docs/settings.md is not what the settings tables say: run pnpm settings\n");
  process.exitCode = 1;
}

function page(): string {
  const sections = Object.entries(settingsTables).map(([service, table]) => {
    const rows = describeSettings(table).map(
      ({ env, default: value, sentence }) => `| ${env} | ${cell(value)} | ${cell(sentence)} |`,
    );
    return `## ${service}\n\n| setting | default | what it does |\n|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Settings\n\nWritten by \`pnpm settings\` from each service's table. Settings are environment variables.\n\n${sections.join("\n")}`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
