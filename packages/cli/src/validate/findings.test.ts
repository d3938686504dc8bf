import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createJudge } from "./findings.ts";
import { jsonReport, sarifReport, textReport } from "./reports.ts";

const judge = createJudge();
const head = (kind: string) =>
  `apiVersion: networking.istio.io/v1\nkind: ${kind}\nmetadata: {name: a, namespace: shop}\n`;
const service = `${head("VirtualService")}spec:
  hosts: [a]
  http:
  - match:
    - headers:
        x-a.b: {regex: "("}
    route:
    - destination: {host: a}
`;

const cases: readonly (readonly [name: string, text: string, lines: readonly RegExp[], checked: number])[] = [
  [
    "a field within a map",
    service,
    [/^f:9:17: error: VirtualService shop\/a: spec\.http\[0\]\.match\[0\]\.headers\[x-a\.b\]\.regex: /],
    1,
  ],
  [
    "a field that is not there by what should have it",
    `${head("Gateway")}spec: {}\n`,
    [/^f:4:1: error: Gateway shop\/a: spec\.servers: /],
    1,
  ],
  [
    "the second of two documents",
    `${head("Sidecar")}spec: {egress: [{hosts: ["./*"]}]}\n---\n${head("Sidecar")}spec:\n  egress:\n  - hosts: [a]\n`,
    [/^f:11:13: error: .*spec\.egress\[0\]\.hosts\[0\]: /],
    2,
  ],
  [
    "an item of a list",
    `apiVersion: v1\nkind: List\nitems:\n- ${head("Gateway").replaceAll("\n", "\n  ")}spec: {}\n`,
    [/^f:7:3: error: Gateway shop\/a: spec\.servers: /],
    1,
  ],
  [
    "JSON",
    `{"apiVersion": "networking.istio.io/v1", "kind": "Gateway",\n "metadata": {"name": "a"}, "spec": {"servers": []}}`,
    [/^f:2:38: error: Gateway a: spec\.servers: /],
    1,
  ],
  ["what is no YAML", "a: [\n", [/^f:\d+:\d+: error: /], 0],
  ["an alias without an anchor", "a: *b\n", [/^f:1:\d+: error: Unresolved alias/], 0],
  ["objects of other projects", "apiVersion: apps/v1\nkind: Deployment\n", [], 0],
  [
    "unknown kinds",
    "apiVersion: networking.istio.io/v1\nkind: VirtualServce\n",
    [/^f:2:1: error: VirtualServce: kind: .* is no kind that is known here/],
    1,
  ],
  [
    "objects without a name",
    "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {}\nspec: {egress: [{hosts: ['./*']}]}\n",
    [/^f:3:1: error: Sidecar: metadata\.name: is required/],
    1,
  ],
  [
    "warnings",
    `${head("ServiceEntry")}spec:\n  hosts: ["*a.example"]\n  ports: [{number: 80, name: http, protocol: HTTP}]\n`,
    [/^f:5:11: warning: ServiceEntry shop\/a: spec\.hosts\[0\]: /],
    1,
  ],
  [
    "a MeshConfig",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata:\n  mesh: |\n    trustDomain: a b\n",
    [/^f:6:5: error: ConfigMap istio: data\.mesh\.trustDomain: /],
    1,
  ],
  [
    "MeshNetworks that are no YAML",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-canary}\ndata: {meshNetworks: '['}\n",
    [/data\.meshNetworks: is no YAML/],
    1,
  ],
  [
    "another ConfigMap",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio-ca-root-cert}\ndata: {root-cert.pem: a}\n",
    [],
    0,
  ],
];

describe("flotilla validate", () => {
  for (const [name, text, lines, checked] of cases)
    it(`names the place of ${name}`, () => {
      const judged = judge("f", text);
      const found = textReport(judged.findings)
        .split("\n")
        .filter((line) => line !== "");
      assert.equal(found.length, lines.length, found.join("\n"));
      for (const [index, line] of lines.entries()) assert.match(found[index] ?? "", line);
      assert.equal(judged.checked, checked);
    });

  it("bounds what aliases expand to", () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `a${level + 1}: &a${level + 1} [${Array(9).fill(`*a${level}`).join(", ")}]`,
    );
    const { findings } = judge("f", `a0: &a0 x\n${levels.join("\n")}\n`);
    assert.match(findings[0]?.message ?? "", /Excessive alias count/);
  });

  it("reports as JSON and SARIF", () => {
    const { findings, checked } = judge("mesh/a b.yaml", service);
    const json = JSON.parse(jsonReport(findings, checked));
    assert.deepEqual([json.checked, json.errors, json.warnings, json.findings[0].line], [1, 1, 0, 9]);
    const [run] = JSON.parse(sarifReport(findings)).runs;
    const [result] = run.results;
    assert.equal(result.ruleId, "invalid-field");
    assert.ok(run.tool.driver.rules.some(({ id }: { readonly id: string }) => id === result.ruleId));
    assert.deepEqual(result.locations[0].physicalLocation, {
      artifactLocation: { uri: "mesh/a%20b.yaml" },
      region: { startLine: 9, startColumn: 17 },
    });
  });
});
