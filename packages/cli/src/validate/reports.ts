/** Findings as text for people, as JSON, and as SARIF for CI systems and editors. */
import { compareText } from "@flotilla/model";
import { packageVersion } from "../parse/program.ts";

export interface Finding {
  /** Absent for objects that come from no file. */
  readonly file?: string;
  /** Line and column are counted from 1. */
  readonly line?: number;
  readonly column?: number;
  readonly severity: "error" | "warning" | "info";
  /** Of a message of analysis. */
  readonly code?: string;
  /** `VirtualService shop/reviews`; absent where a file is no YAML. */
  readonly object?: string;
  /** `spec.http[0].route`; absent where the object as a whole is meant. */
  readonly field?: string;
  readonly message: string;
}

/** By file, line and column; findings without a file come first, in the order in which they are. */
export function byPlace(a: Finding, b: Finding): number {
  const [left, right] = [a.file ?? "", b.file ?? ""];
  return compareText(left, right) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** `FILE:LINE:COLUMN: error: OBJECT: FIELD: MESSAGE [CODE]`, the form that editors follow. */
export function textReport(findings: readonly Finding[]): string {
  return findings
    .map(({ file, line, column, severity, code, object, field, message }) =>
      [
        file === undefined ? undefined : [file, line, column].filter((part) => part !== undefined).join(":"),
        severity,
        object,
        field,
        code === undefined ? message : `${message} [${code}]`,
      ]
        .filter((part) => part !== undefined)
        .join(": "),
    )
    .join("\n");
}

export function jsonReport(findings: readonly Finding[], checked: number): string {
  const count = (wanted: Finding["severity"]) => findings.filter(({ severity }) => severity === wanted).length;
  const infos = findings.some(({ code }) => code !== undefined) ? { infos: count("info") } : {};
  return JSON.stringify(
    { checked, errors: count("error"), warnings: count("warning"), ...infos, findings },
    undefined,
    2,
  );
}

/** A rule of SARIF: what kinds of findings there are. */
export interface ReportRule {
  readonly id: string;
  readonly shortDescription: { readonly text: string };
}

/** Of findings without a code. */
const ownRules: readonly ReportRule[] = [
  { id: "syntax", shortDescription: { text: "The file is no YAML or JSON" } },
  { id: "invalid-field", shortDescription: { text: "The object would be refused" } },
  { id: "doubtful-field", shortDescription: { text: "The object is accepted, and probably not what is meant" } },
];

const levels = { error: "error", warning: "warning", info: "note" } as const;

/** The Static Analysis Results Interchange Format, version 2.1.0. */
export function sarifReport(findings: readonly Finding[], codes: readonly ReportRule[] = []): string {
  const driver = { name: "flotilla", version: packageVersion(), rules: [...ownRules, ...codes] };
  const results = findings.map((finding) => {
    const { file, line, column, severity, code, object, field, message } = finding;
    const region = line === undefined ? {} : { region: { startLine: line, startColumn: column } };
    const name = [object, field].filter((part) => part !== undefined).join(" ");
    const place =
      file === undefined ? [] : [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...region } }];
    const uncoded = object === undefined ? "syntax" : severity === "error" ? "invalid-field" : "doubtful-field";
    return {
      ruleId: code ?? uncoded,
      level: levels[severity],
      message: { text: name === "" ? message : `${name}: ${message}` },
      locations: place,
    };
  });
  const schema = "https://json.schemastore.org/sarif-2.1.0.json";
  return JSON.stringify({ $schema: schema, version: "2.1.0", runs: [{ tool: { driver }, results }] }, undefined, 2);
}

/** Relative paths stay relative, which CI systems resolve in the repository. */
function uriOf(file: string): string {
  return file.split("/").map(encodeURIComponent).join("/");
}
