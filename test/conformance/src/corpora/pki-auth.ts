/** Corpus pki-auth: certificates, requests, names, tokens and headers, held against what Istio's CA makes of them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CaseResult } from "./corpus.ts";
import { authenticationCases } from "./pki-auth/authentication.ts";
import { certificateFunctions } from "./pki-auth/certificates.ts";
import { generatingFunctions } from "./pki-auth/generating.ts";
import { identityFunctions } from "./pki-auth/identities.ts";
import { type Judge, judgeReturns, type PkiCase } from "./pki-auth/judge.ts";

/** Why a function of the corpus cannot have a counterpart. */
const without: Readonly<Record<string, string>> = {
  copyBytes: "copies bytes: an internal of Go",
};

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const text = await readFile(join(directory, "cases.json"), "utf8");
  const { cases } = JSON.parse(text) as { cases: readonly PkiCase[] };
  const functions = { ...certificateFunctions(join(directory, "files")), ...generatingFunctions, ...identityFunctions };
  const results: CaseResult[] = [];
  for (const one of cases) results.push(await runCase(one, judgeOf(one, functions)));
  return results;
}

function judgeOf(one: PkiCase, functions: Parameters<typeof judgeReturns>[0]): Judge | string {
  const called = one.function?.split(".").at(-1);
  if (called === undefined) return authenticationCases[one.name.split("/")[0] ?? ""] ?? "this group has no counterpart";
  return functions[called] === undefined
    ? (without[called] ?? `${called} has no counterpart`)
    : judgeReturns(functions);
}

async function runCase(one: PkiCase, judge: Judge | string): Promise<CaseResult> {
  const { name } = one;
  if (typeof judge === "string") return { name, passed: false, detail: judge };
  try {
    const detail = await judge(one);
    return detail === undefined ? { name, passed: true } : { name, passed: false, detail };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}
