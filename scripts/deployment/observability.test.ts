/** The dashboard and the alerts of k8s/observability use metrics that the services declare, and each advises what to do. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { metricsTables } from "../metrics-tables.ts";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../k8s/observability");
const declared = Object.values(await metricsTables()).flat();
/** As Prometheus has them: a histogram has three series. */
const series = new Map(
  declared.flatMap(({ name, type, labels }) =>
    (type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]).map((one) => [one, labels]),
  ),
);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}
const rules = (
  parse(readFileSync(join(folder, "rules.yaml"), "utf8")) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  }
).groups.flatMap(({ rules: some }) => some);

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly targets: readonly { readonly expr: string }[];
}
const { panels } = JSON.parse(readFileSync(join(folder, "dashboard.json"), "utf8")) as {
  readonly panels: readonly Panel[];
};

/** Names of series: words with an underscore outside of label lists and variables. */
function seriesIn(expression: string): readonly string[] {
  return expression.replaceAll(/\$__rate_interval|by \([^)]*\)|\{[^}]*\}/g, "").match(/\b[a-z]\w*_\w+\b/g) ?? [];
}

/** Labels that results are summed by; `le` is that of every histogram. */
function labelsIn(expression: string): readonly string[] {
  const lists = [...expression.matchAll(/by \(([^)]*)\)/g)].map(([, list = ""]) => list.split(/,\s*/));
  return lists.flat().filter((label) => label !== "le");
}

const expressions = [
  ...rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
];

test("every expression asks for series and labels that services declare", () => {
  assert.ok(expressions.length > 30);
  for (const [where, expression] of expressions) {
    const named = seriesIn(expression).filter((name) => name !== "histogram_quantile");
    assert.ok(named.length > 0, where);
    for (const name of named) assert.ok(series.has(name), `${where}: no service declares ${name}`);
    const labels = new Set(named.flatMap((name) => series.get(name) ?? []));
    for (const label of labelsIn(expression)) assert.ok(labels.has(label), `${where}: no label ${label}`);
  }
});

test("every alert says what happens and what to do, and every panel what it shows", () => {
  for (const { alert, annotations } of rules) {
    assert.match(`${annotations["summary"]}`, /\.$/, alert);
    assert.match(`${annotations["action"]}`, /\.$/, alert);
  }
  for (const { title, description } of panels) assert.match(description, /\.$/, title);
});

test("every alert is fired by series of its own, and stays quiet in a mesh without faults", () => {
  const { tests } = parse(readFileSync(join(folder, "rules.test.yaml"), "utf8")) as {
    readonly tests: readonly {
      readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
    }[];
  };
  const cases = tests.flatMap(({ alert_rule_test: all }) => all);
  const named = (isFiring: boolean) =>
    cases.filter(({ exp_alerts: expected }) => (expected !== undefined) === isFiring).map(({ alertname }) => alertname);
  const names = rules.map(({ alert }) => alert).sort();
  assert.deepEqual([...named(true)].sort(), names);
  assert.deepEqual([...named(false)].sort(), names);
});
