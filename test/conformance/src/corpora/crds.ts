/** Corpus crds: resources that Istio's CRDs take or refuse, with the API server's words. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSchemaValidator, hasErrors, problemText, type SchemaValidator } from "@flotilla/validation";
import { parse } from "yaml";
import type { CaseResult } from "./index.ts";

interface Case {
  readonly name: string;
  readonly yaml: string;
  readonly expected: {
    readonly valid: boolean;
    readonly schemaErrorContains?: string | null;
    /** `Kind/name/namespace: text`; several texts in brackets. */
    readonly schemaError?: string | null;
  };
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  const validate = createSchemaValidator();
  return cases.map((one) => runCase(one, validate));
}

function runCase({ name, yaml, expected }: Case, validate: SchemaValidator): CaseResult {
  // The recording judged fields alone: it dropped no nulls, and unknown fields are not a matter of the schema.
  const problems = validate(parse(yaml), { unknownFields: "Ignore", dropNulls: false });
  const texts = problems.map(problemText);
  const got = texts.length > 1 ? `[${texts.join(", ")}]` : texts.join("");
  if (hasErrors(problems) === expected.valid)
    return { name, passed: false, detail: `valid is ${expected.valid}, got ${got || "nothing"}` };
  const recorded = expected.schemaError?.replace(/^[^/]*\/[^/]*\/[^:]*: /, "");
  if (recorded !== undefined && recorded !== "") {
    return recorded === got ? { name, passed: true } : { name, passed: false, detail: `want ${recorded}, got ${got}` };
  }
  const marker = expected.schemaErrorContains ?? "";
  return got.includes(marker) ? { name, passed: true } : { name, passed: false, detail: `want ${marker}, got ${got}` };
}
