/** Writes docs/security/limits.md from the settings and constants that bound what one client can take; `--check` only compares it. */

import { writeOrCheck } from "./generated-file.ts";
import { apiLimits } from "./limits/api-limits.ts";
import { httpLimits } from "./limits/http-limits.ts";
import { boundText, type Limit } from "./limits/limit.ts";
import { storeLimits } from "./limits/store-limits.ts";
import { xdsLimits } from "./limits/xds-limits.ts";

writeOrCheck({
  file: "docs/security/limits.md",
  text: page(),
  from: "settings and constants",
  command: "node scripts/write-limits.ts",
});

function page(): string {
  const rows = [xdsLimits, httpLimits, apiLimits, storeLimits].flat().map(rowOf).join("\n");
  return `# What one client can take

Written by \`node scripts/write-limits.ts\` from settings and constants, by the tables in \`scripts/limits\`. Settings in capitals can be changed (docs/settings.md), constants stand
in the file that is named.

| resource | bound | what happens at it | test |
|---|---|---|---|
${rows}
`;
}

function rowOf({ resource, bounds, effect, tests }: Limit): string {
  const named = tests.map(([testFile, title]) => `\`${testFile}\`: "${title}"`).join(", ");
  return `| ${resource} | ${bounds.map(boundText).join("; ")} | ${effect} | ${named} |`;
}
