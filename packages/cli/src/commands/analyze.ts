/** `flotilla analyze`: what is wrong with a mesh as a whole, before or after it is in force. */
import {
  type Analyzer,
  createAnalyzers,
  type Finding,
  isSuppressed,
  isSuppressedByObject,
  MeshAnalysis,
  messageList,
  objectTitle,
  parseSuppression,
  reaches,
  type Suppression,
} from "@flotilla/analysis";
import { configKeyText } from "@flotilla/model";
import { analysisTools } from "../analyze/analysis-tools.ts";
import { meshView, type ViewedObject } from "../analyze/mesh-view.ts";
import type { analyze as definition } from "../definitions/offline.ts";
import { CliError } from "../errors.ts";
import { columns, counted } from "../output.ts";
import type { Invocation, Run } from "../parse/definition.ts";
import { byPlace, jsonReport, type Finding as ReportedFinding, sarifReport, textReport } from "../validate/reports.ts";

type Options = Invocation<typeof definition>["options"];

export const analyze: Run<typeof definition> = async (invocation) => {
  const { options, terminal } = invocation;
  const analyzers = chosenAnalyzers(options);
  if (options.listAnalyzers) {
    terminal.print(columns(createAnalyzers().map(({ name, summary }) => [name, summary])));
    return 0;
  }
  const suppressions = suppressionsOf(options);
  const { objects, unreadable, missing } = await meshView(invocation, analyzers);
  const isBlind = ({ reads }: Analyzer) => reads.some((kind) => missing.includes(kind));
  if (missing.length > 0) terminal.warn(missingText(missing, analyzers.filter(isBlind)));
  const analysis = new MeshAnalysis(
    analyzers.filter((one) => !isBlind(one)),
    analysisTools,
  );
  analysis.apply(objects.map(({ object }) => ({ object })));
  const byKey = new Map(objects.map((one) => [configKeyText(one.object.key), one]));
  const found = analysis.findings().filter((one) => {
    const about = byKey.get(configKeyText(one.object));
    if (about?.isAssumed === true) return false;
    const isElsewhere =
      options.namespace !== undefined && about?.origin === undefined && one.object.namespace !== options.namespace;
    return !isElsewhere && !isSuppressed(one, suppressions) && !(about && isSuppressedByObject(one.code, about.object));
  });
  const shown = found.filter(({ level }) => reaches(level, options.outputThreshold));
  const placed = shown.map((one) => reportedFinding(one, byKey.get(configKeyText(one.object))));
  const reported = [...unreadable, ...placed].sort(byPlace);
  print(reported, objects.filter(({ isAssumed }) => isAssumed !== true).length, invocation);
  if (found.some(({ level }) => reaches(level, options.failureThreshold))) return 79;
  return unreadable.length > 0 ? 3 : 0;
};

/** Optional ones run only when they are named. @throws CliError CLI_USAGE */
function chosenAnalyzers({ analyzer: names }: Options): readonly Analyzer[] {
  const all = createAnalyzers();
  const unknown = names.find((name) => all.every((one) => one.name !== name));
  if (unknown !== undefined)
    throw new CliError("CLI_USAGE", `there is no analyzer ${unknown}: --list-analyzers shows them`);
  return all.filter(({ name, isOptional }) => (names.length === 0 ? isOptional !== true : names.includes(name)));
}

/** An analyzer that looks at objects which are not there would find that nothing exists. */
function missingText(missing: readonly string[], left: readonly Analyzer[]): string {
  const names = left.map(({ name }) => name).join(", ");
  return `flotilla: the control plane has no objects of ${missing.join(", ")}${names === "" ? "" : `; left out: ${names}`}`;
}

/** @throws CliError CLI_USAGE */
function suppressionsOf({ suppress }: Options): readonly Suppression[] {
  return suppress.map((text) => {
    const parsed = parseSuppression(text);
    if (parsed === undefined)
      throw new CliError("CLI_USAGE", `--suppress ${JSON.stringify(text)} is not CODE=KIND NAME.NAMESPACE`);
    return parsed;
  });
}

const severities = { Error: "error", Warning: "warning", Info: "info" } as const;

function reportedFinding(
  { code, level, object, field, message }: Finding,
  about: ViewedObject | undefined,
): ReportedFinding {
  const origin = about?.origin;
  return {
    ...(origin !== undefined && { file: origin.file, ...origin.placeOf(field) }),
    ...{ severity: severities[level], code, object: objectTitle(object) },
    ...(field !== "" && { field }),
    // A report names the field itself.
    message: field !== "" && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message,
  };
}

function print(
  findings: readonly ReportedFinding[],
  checked: number,
  { options, terminal }: Invocation<typeof definition>,
): void {
  if (options.output === "json") terminal.print(jsonReport(findings, checked));
  else if (options.output === "sarif") {
    const rules = messageList.map(({ code, name, description }) => ({
      id: code,
      name,
      shortDescription: { text: description },
    }));
    terminal.print(sarifReport(findings, rules));
  } else {
    if (findings.length > 0) terminal.print(textReport(findings));
    const count = (wanted: string) => findings.filter(({ severity }) => severity === wanted).length;
    const counts = [
      counted(count("error"), "error"),
      counted(count("warning"), "warning"),
      counted(count("info"), "note"),
    ];
    terminal.print([counted(checked, "object"), ...counts].join(", "));
  }
}
