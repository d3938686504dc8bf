/** The meaning of names on the command line. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parseOptions } from "./options.ts";
import { select } from "./selection.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** There are corpora where there is this folder: the project's own will do. */
const given = ["--corpus", root];

const cases: readonly (readonly [names: readonly string[], groups: readonly string[], corpora: readonly string[]])[] = [
  [["gateway-api"], ["gateway-api"], ["gateway-api"]],
  [["scenarios/gateway-api"], ["gateway-api"], []],
  [["corpora/gateway-api"], [], ["gateway-api"]],
  [["telemetry", "corpora/crds"], ["telemetry"], ["crds"]],
];

describe("names", () => {
  for (const [names, groups, corpora] of cases)
    it(names.join(" "), () => {
      const found = select(parseOptions([...given, ...names], root));
      assert.deepEqual([...new Set(found.scenarios.map(({ group }) => group))], groups);
      assert.deepEqual([found.corpora, found.problems], [corpora, []]);
    });

  it("that nothing has are named", () => {
    const { problems } = select(parseOptions([...given, "scenarios/crds", "corpora/telemetry", "corpora/none"], root));
    assert.deepEqual(
      problems.map((problem) => problem.split(" ").at(-1)),
      ["scenarios/crds", "corpora/telemetry", "corpora/none"],
    );
  });
});
