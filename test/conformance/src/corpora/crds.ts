/** Corpus crds: resources that Istio's CRDs take or refuse, with the API server's words. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSchemaValidator, hasErrors, problemText, type SchemaValidator } from "@flotilla/validation";
import { isScalar, parseDocument, Scalar, visit } from "yaml";
import type { CaseResult } from "./corpus.ts";

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
  const problems = validate(readYaml(yaml), { unknownFields: "Ignore", dropNulls: false });
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

/** In a flow sequence, `[001:db8::]` is a text to the YAML reader of Kubernetes, and a mapping by YAML 1.2. */
function readYaml(text: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(text);
  visit(document, {
    Map: (_, { flow, items }) => {
      const [pair] = items;
      if (flow !== true || items.length !== 1 || !isScalar(pair?.key)) return undefined;
      const { key, value } = pair;
      const isText =
        isScalar(value) && value.value === null && typeof key.value === "string" && key.value.includes(":");
      return isText ? new Scalar(`${key.value}:`) : undefined;
    },
  });
  return document.toJS();
}
