/** `flotilla validate -f FILE`: what is wrong with objects, without a control plane. */
import type { PatchValueCheck } from "@flotilla/validation";
import { filesOf, readManifestText } from "../api/manifests.ts";
import type { validate as definition } from "../definitions/offline.ts";
import { CliError } from "../errors.ts";
import { counted } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { createJudge, repeatedObjects } from "../validate/findings.ts";
import { byPlace, jsonReport, sarifReport, textReport } from "../validate/reports.ts";

/** The exit code is 3 where an object would be refused. */
export const validate: Run<typeof definition> = async ({ options, terminal }) => {
  if (options.file.length === 0) throw new CliError("CLI_USAGE", "validate needs -f FILE, a directory or -");
  const files = options.file.flatMap(filesOf).map((file) => ({ file, text: readManifestText(file) }));
  const judge = createJudge(await patchValuesFor(files.map(({ text }) => text)));
  const judged = files.map(({ file, text }) => judge(file === "-" ? "stdin" : file, text));
  const repeated = repeatedObjects(judged.flatMap(({ objects }) => objects));
  const findings = [...judged.flatMap((one) => one.findings), ...repeated].sort(byPlace);
  const checked = judged.reduce((sum, one) => sum + one.checked, 0);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  if (options.output === "json") terminal.print(jsonReport(findings, checked));
  else if (options.output === "sarif") terminal.print(sarifReport(findings));
  else {
    if (findings.length > 0) terminal.print(textReport(findings));
    const warnings = findings.length - errors;
    const counts = [counted(checked, "object"), counted(errors, "error"), counted(warnings, "warning")];
    terminal.print(counts.join(", "));
  }
  return errors > 0 ? 3 : 0;
};

/** Envoy's types take a quarter of a second to load: only where they are needed. */
async function patchValuesFor(texts: readonly string[]): Promise<PatchValueCheck | undefined> {
  if (!texts.some((text) => text.includes("EnvoyFilter"))) return undefined;
  return (await import("@flotilla/proto/patch-values")).patchValueProblem;
}
