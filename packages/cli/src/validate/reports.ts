/** Findings as text for people, as JSON, and as SARIF for CI systems and editors. */
import { packageVersion } from "../parse/program.ts";
import type { Finding } from "./findings.ts";

/** `FILE:LINE:COLUMN: error: OBJECT: FIELD: MESSAGE`, the form that editors follow. */
export function textReport(findings: readonly Finding[]): string {
  return findings
    .map(({ file, line, column, severity, object, field, message }) =>
      [`${file}:${line}:${column}`, severity, object, field, message].filter((part) => part !== undefined).join(": "),
    )
    .join("\n");
}

export function jsonReport(findings: readonly Finding[], checked: number): string {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return JSON.stringify({ checked, errors, warnings: findings.length - errors, findings }, undefined, 2);
}

const rules = [
  { id: "syntax", shortDescription: { text: "The file is no YAML or JSON" } },
  { id: "invalid-field", shortDescription: { text: "The object would be refused" } },
  { id: "doubtful-field", shortDescription: { text: "The object is accepted, and probably not what is meant" } },
];

/** The Static Analysis Results Interchange Format, version 2.1.0. */
export function sarifReport(findings: readonly Finding[]): string {
  const driver = { name: "flotilla", version: packageVersion(), rules };
  const results = findings.map((finding) => {
    const { file, line, column, severity, object, field, message } = finding;
    const region = { startLine: line, startColumn: column };
    const name = [object, field].filter((part) => part !== undefined).join(" ");
    return {
      ruleId: object === undefined ? "syntax" : severity === "error" ? "invalid-field" : "doubtful-field",
      level: severity,
      message: { text: name === "" ? message : `${name}: ${message}` },
      locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region } }],
    };
  });
  const schema = "https://json.schemastore.org/sarif-2.1.0.json";
  return JSON.stringify({ $schema: schema, version: "2.1.0", runs: [{ tool: { driver }, results }] }, undefined, 2);
}

/** Relative paths stay relative, which CI systems resolve in the repository. */
function uriOf(file: string): string {
  return file.split("/").map(encodeURIComponent).join("/");
}
