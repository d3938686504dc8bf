/** Conditions in the specification's words, and entries of a status that several controllers write. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { condition, enumerated, gatewayController, meshController, withForeignEntries } from "./conditions.ts";

describe("conditions", () => {
  const good = { reason: "Accepted", message: "" };
  const problem = { reason: "Invalid", message: "bad" };
  it("hold unless there is a problem", () => {
    assert.deepEqual(condition("Accepted", good), { type: "Accepted", status: "True", ...good });
    assert.deepEqual(condition("Accepted", good, problem), { type: "Accepted", status: "False", ...problem });
  });

  for (const { given, is } of [
    { given: [], is: "" },
    { given: ["a"], is: "a" },
    { given: ["a", "b"], is: "a and b" },
    { given: ["a", "b", "c"], is: "a, b, and c" },
    { given: ["a", "b", "c", "d"], is: "a, b, c, and d" },
  ])
    it(`name ${given.length} things`, () => assert.equal(enumerated(given), is));
});

describe("entries of several controllers", () => {
  const [foreign, ours, mesh, now] = [
    ...[{ controllerName: "example.com/c" }, { controllerName: gatewayController }, { controllerName: meshController }],
    { controllerName: gatewayController, isNew: true },
  ] as const;
  it("of others stay, before ours, which are replaced", () => {
    assert.deepEqual(withForeignEntries([ours, foreign, mesh], [now]), [foreign, now]);
  });
  it("are ours alone where nothing was written", () => assert.deepEqual(withForeignEntries(undefined, [now]), [now]));
});
