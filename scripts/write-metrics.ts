/** Writes docs/metrics.md from the metrics that the services declare; `--check` only compares. */

import { writeOrCheck } from "./generated-file.ts";
import { type DeclaredMetric, metricsTables } from "./metrics-tables.ts";

writeOrCheck({
  file: "docs/metrics.md",
  text: page(await metricsTables()),
  from: "the metrics that are declared",
  command: "pnpm metrics",
});

function page(tables: Readonly<Record<string, readonly DeclaredMetric[]>>): string {
  const sections = Object.entries(tables).map(([service, metrics]) => {
    const rows = [...metrics]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, type, labels, help }) => `| ${name} | ${type} | ${labels.join(", ")} | ${cell(help)} |`);
    return `## ${service}\n\n| metric | type | labels | what it shows |\n|---|---|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Metrics

Written by \`pnpm metrics\` from the metrics that each service declares. \`/metrics\` on the health port of a service has them in Prometheus' text
form. Names that begin with \`pilot_\`, \`istio\`, \`citadel_\`, \`galley_\`, \`sidecar_\`, \`webhook_patch_\` or \`go_\` are istiod's and mean what they mean
there; \`go_memstats_heap_…\` are of V8's heap. A histogram has the series \`_bucket\`, \`_sum\` and \`_count\`.

${sections.join("\n")}`;
}

function cell(help: string): string {
  return help.replaceAll("|", "\\|");
}
