/** Writes docs/settings.md from the services' settings tables; `--check` only tells whether it is up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeSettings, type SettingsTable } from "@flotilla/runtime";
import { settings as ca } from "../services/ca/src/config.ts";
import { settings as configController } from "../services/config-controller/src/config.ts";
import { settings as serviceController } from "../services/service-controller/src/config.ts";
import { settings as webhook } from "../services/webhook/src/config.ts";
import { settings as xdsServer } from "../services/xds-server/src/config.ts";

const tables: Readonly<Record<string, SettingsTable>> = {
  ca,
  "config-controller": configController,
  "service-controller": serviceController,
  webhook,
  "xds-server": xdsServer,
};

const file = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/settings.md");
const text = page();
if (!process.argv.includes("--check")) writeFileSync(file, text);
else if (readFileSync(file, "utf8") !== text) {
  process.stdout.write("docs/settings.md is not what the settings tables say: run pnpm settings\n");
  process.exitCode = 1;
}

function page(): string {
  const sections = Object.entries(tables).map(([service, table]) => {
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
