/** Each operator's changes, and what it leaves alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyMutant, mutantsOf, type Operator } from "./operators.ts";

const cases: readonly {
  readonly name: string;
  readonly source: string;
  readonly operator: Operator;
  readonly changed: readonly string[];
}[] = [
  { name: "equality is turned around", source: "f(a === b);", operator: "comparison", changed: ["f(a !== b);"] },
  { name: "an order is turned around", source: "f(a < b);", operator: "comparison", changed: ["f(a >= b);"] },
  { name: "a bound moves by one", source: "f(a < b);", operator: "boundary", changed: ["f(a <= b);"] },
  { name: "and becomes or", source: "f(a && b);", operator: "logic", changed: ["f(a || b);"] },
  { name: "a negation goes", source: "f(!a);", operator: "logic", changed: ["f(a);"] },
  {
    name: "an if is always and never taken",
    source: "if (a) f();",
    operator: "condition",
    changed: ["if (true) f();", "if (false) f();"],
  },
  {
    name: "a loop never begins, and is not endless",
    source: "while (a) f();",
    operator: "condition",
    changed: ["while (false) f();"],
  },
  {
    name: "a choice takes one side",
    source: "f(a ? 1 : 2);",
    operator: "condition",
    changed: ["f(true ? 1 : 2);", "f(false ? 1 : 2);"],
  },
  {
    name: "truth is returned turned around",
    source: "() => { return true; };",
    operator: "return value",
    changed: ["() => { return false; };"],
  },
  {
    name: "a list is returned empty",
    source: "() => { return [a]; };",
    operator: "return value",
    changed: ["() => { return []; };"],
  },
  {
    name: "a call's value is not returned",
    source: "async () => { return await g(); };",
    operator: "return value",
    changed: ["async () => { return undefined; };"],
  },
  {
    name: "an arrow function that only calls is left alone",
    source: "() => g();",
    operator: "return value",
    changed: [],
  },
  {
    name: "a call goes, awaited or not",
    source: "f();\nawait g();",
    operator: "removed call",
    changed: [";\nawait g();", "f();\n;"],
  },
  { name: "a filter goes", source: "f = a.filter(isB);", operator: "removed call", changed: ["f = a;"] },
  { name: "log lines are left alone", source: 'log.info("published");', operator: "removed call", changed: [] },
  {
    name: "so are those of a private log",
    source: 'class A { f() { this.#log.info("published"); } }',
    operator: "removed call",
    changed: [],
  },
  { name: "types are left alone", source: "type A = B extends true ? C : D;", operator: "condition", changed: [] },
];

describe("mutants of a source", () => {
  for (const { name, source, operator, changed } of cases)
    it(name, () => {
      const mutants = mutantsOf("a.ts", source).filter((mutant) => mutant.operator === operator);
      assert.deepEqual(
        mutants.map((mutant) => applyMutant(source, mutant)),
        changed,
      );
    });

  it("are described on one line, with the line of the change", () => {
    const [mutant] = mutantsOf("a.ts", "f(\n  a &&\n    b,\n);").filter(({ operator }) => operator === "logic");
    assert.deepEqual([mutant?.line, mutant?.before, mutant?.after], [2, "a && b", "a || b"]);
  });
});
