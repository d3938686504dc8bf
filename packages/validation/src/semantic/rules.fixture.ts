/**
 * Tables of rules for the tests of kinds: each with a spec that keeps it and one that breaks it. A rule that refuses a spec is described for editors, too: a new one
 * that schema/field-notes.ts does not have fails here.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kindOf } from "@flotilla/kinds";
import { problemText } from "../problem.ts";
import { isDescribed } from "../schema/field-notes.ts";
import type { JsonObject } from "../schema/schema.ts";
import { validateSemantics } from "../validate-object.ts";

/** The rule as a sentence, a spec that keeps it, one that breaks it, and what is found there: warnings begin with `warning `. */
export type Rule = readonly [rule: string, good: object, bad: object, ...found: readonly RegExp[]];

const ofEveryEnvoyFilter = /^warning spec: patches Envoy's own configuration/;

export function describeRules(
  apiVersion: string,
  kind: string,
  rules: readonly Rule[],
  metadata: JsonObject = {},
): void {
  const problemsOf = (spec: object) =>
    validateSemantics({ apiVersion, kind, metadata: { name: "a", namespace: "shop", ...metadata }, spec });
  const findings = (spec: object) =>
    problemsOf(spec).map((problem) =>
      problem.severity === "warning" ? `warning ${problemText(problem)}` : problemText(problem),
    );
  const { name: kindName = kind } = kindOf({ apiVersion, kind }) ?? {};
  describe(kind, () => {
    for (const [rule, good, bad, ...found] of rules)
      it(rule, () => {
        const always = findings(good).filter((finding) => ofEveryEnvoyFilter.test(finding));
        assert.deepEqual(findings(good), always);
        const broken = findings(bad);
        assert.equal(broken.length, found.length, broken.join("\n"));
        const silent = problemsOf(bad).filter(
          ({ field, severity }) => severity === "error" && field.startsWith("spec") && !isDescribed(kindName, field),
        );
        assert.deepEqual(silent, [], `no note for editors in schema/field-notes.ts`);
        for (const [index, pattern] of found.entries()) assert.match(broken[index] ?? "", pattern);
      });
  });
}
