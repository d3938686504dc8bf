/** Corpus functions: single functions of Istio held against their counterparts; those without one are left out. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { CaseResult } from "./corpus.ts";
import type { Counterparts, FunctionCase } from "./functions/counterpart.ts";
import { envoyFilterFunctions } from "./functions/envoy-filters.ts";
import { routeFunctions } from "./functions/routes.ts";

const counterparts: Counterparts = { ...envoyFilterFunctions, ...routeFunctions };

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as {
    cases: readonly FunctionCase[];
  };
  return cases.flatMap((one) => {
    const counterpart = counterparts[one.function];
    return counterpart === undefined ? [] : [runCase(one, counterpart)];
  });
}

function runCase(one: FunctionCase, counterpart: Counterparts[string]): CaseResult {
  const { name, args, expected } = one;
  try {
    const got: unknown = JSON.parse(JSON.stringify(counterpart(...args)));
    const want = expected.returns.slice(0, (got as readonly unknown[]).length);
    if (isDeepStrictEqual(got, want)) return { name, passed: true };
    return { name, passed: false, detail: `want ${JSON.stringify(want)}, got ${JSON.stringify(got)}` };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}
