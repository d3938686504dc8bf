/** Findings as people and programs read them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { byPlace, type Finding, jsonReport, sarifReport, textReport } from "./reports.ts";

const syntax: Finding = { file: "b c.yaml", line: 3, severity: "error", message: "no YAML" };
const invalid: Finding = {
  ...{ file: "a/b.yaml", line: 2, column: 5, severity: "error", object: "Gateway shop/a", field: "spec.servers" },
  message: "is missing",
};
const doubtful: Finding = { ...invalid, column: 1, severity: "warning", message: "is empty" };
const analyzed: Finding = { severity: "info", code: "IST0118", object: "Service shop/a", message: "port name" };

test("text has the place first, and only the parts that there are", () => {
  assert.equal(
    textReport([analyzed, invalid, syntax]),
    `info: Service shop/a: port name [IST0118]
a/b.yaml:2:5: error: Gateway shop/a: spec.servers: is missing
b c.yaml:3: error: no YAML`,
  );
});

test("findings are ordered by file, line and column, those without a file first", () => {
  const sorted = [syntax, invalid, { ...invalid, line: 1 }, doubtful, analyzed].sort(byPlace);
  assert.deepEqual(sorted, [analyzed, { ...invalid, line: 1 }, doubtful, invalid, syntax]);
});

test("JSON counts by severity, infos only where there is analysis", () => {
  const counts = (findings: readonly Finding[]) => {
    const { findings: _, ...rest } = JSON.parse(jsonReport(findings, 7)) as Record<string, unknown>;
    return rest;
  };
  assert.deepEqual(counts([invalid, syntax, doubtful]), { checked: 7, errors: 2, warnings: 1 });
  assert.deepEqual(counts([invalid, analyzed]), { checked: 7, errors: 1, warnings: 0, infos: 1 });
});

test("SARIF has a rule, a level and a place for each", () => {
  const rules = [{ id: "IST0118", shortDescription: { text: "Port names" } }];
  const { runs } = JSON.parse(sarifReport([syntax, invalid, doubtful, analyzed], rules)) as {
    readonly runs: readonly [
      {
        readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
        readonly results: readonly {
          readonly ruleId: string;
          readonly level: string;
          readonly message: { readonly text: string };
          readonly locations: readonly object[];
        }[];
      },
    ];
  };
  const [{ tool, results }] = runs;
  assert.deepEqual(
    tool.driver.rules.map(({ id }) => id),
    ["syntax", "invalid-field", "doubtful-field", "IST0118"],
  );
  assert.deepEqual(
    results.map(({ ruleId, level, message }) => [ruleId, level, message.text]),
    [
      ["syntax", "error", "no YAML"],
      ["invalid-field", "error", "Gateway shop/a spec.servers: is missing"],
      ["doubtful-field", "warning", "Gateway shop/a spec.servers: is empty"],
      ["IST0118", "note", "Service shop/a: port name"],
    ],
  );
  assert.deepEqual(results[0]?.locations, [
    { physicalLocation: { artifactLocation: { uri: "b%20c.yaml" }, region: { startLine: 3 } } },
  ]);
  assert.deepEqual(results[1]?.locations, [
    { physicalLocation: { artifactLocation: { uri: "a/b.yaml" }, region: { startLine: 2, startColumn: 5 } } },
  ]);
  assert.deepEqual(results[3]?.locations, []);
});
