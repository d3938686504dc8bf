/** Corpus validation: whole objects that istiod's validation takes, warns of or refuses. The wording is ours. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { kindOf } from "@flotilla/kinds";
import { createValidator, hasErrors, problemText, type SchemaValidator } from "@flotilla/validation";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly level: "resource" | "part";
  readonly resource?: Readonly<Record<string, unknown>>;
  readonly expected: { readonly valid: boolean; readonly error: string | null; readonly warning: string | null };
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8"), expandRepeats) as {
    cases: readonly Case[];
  };
  const validate = createWebhookValidator();
  // Parts are arguments of istiod's own functions: what they check is met here in whole objects.
  return cases.filter(({ level }) => level === "resource").map((one) => runCase(one, validate));
}

/** As the webhook does it: kinds that it does not support are rejected. */
function createWebhookValidator(): SchemaValidator {
  const validate = createValidator();
  return (object) => {
    const { apiVersion, kind } = object as { readonly apiVersion: string; readonly kind: string };
    if (kindOf({ apiVersion, kind }) !== undefined) return validate(object);
    return [{ field: "kind", reason: `unrecognized type ${apiVersion} ${kind}`, severity: "error" }];
  };
}

function runCase({ name, resource = {}, expected }: Case, validate: SchemaValidator): CaseResult {
  const problems = validate(resource);
  const got = problems.map((problem) => `${problem.severity} ${problemText(problem)}`).join("; ") || "nothing";
  const isValid = !hasErrors(problems);
  if (isValid !== expected.valid)
    return { name, passed: false, detail: `valid is ${expected.valid} (${expected.error}), got ${got}` };
  const warns = problems.some(({ severity }) => severity === "warning");
  const passed = !isValid || warns === (expected.warning !== null);
  return passed ? { name, passed } : { name, passed, detail: `warning is ${expected.warning}, got ${got}` };
}

/** `{ $repeat, $length }` stands for a long text. */
function expandRepeats(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("$repeat" in value)) return value;
  const { $repeat: text, $length: length } = value as { readonly $repeat: string; readonly $length: number };
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}
