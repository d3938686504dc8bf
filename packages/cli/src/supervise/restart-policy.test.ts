import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type End, RestartHistory } from "./restart-policy.ts";

const policy = { firstMs: 200, maxMs: 1_000, steadyMs: 10_000, maxFailures: 3, withinMs: 60_000 };

interface Case {
  readonly name: string;
  readonly ends: readonly End[];
  /** The wait after each end, or how many failures made it give up. */
  readonly decisions: readonly (number | string)[];
}

const cases: readonly Case[] = [
  {
    name: "waits double up to the longest",
    ends: [0, 1_000, 2_000, 3_000].map((atMs) => ({ atMs, readySinceMs: atMs - 10 })),
    decisions: [200, 400, 800, 1_000],
  },
  {
    name: "after a steady run it starts at once, and the waits begin anew",
    ends: [
      { atMs: 0, readySinceMs: -10 },
      { atMs: 1_000, readySinceMs: 900 },
      { atMs: 30_000, readySinceMs: 20_000 },
      { atMs: 31_000, readySinceMs: 30_900 },
    ],
    decisions: [200, 400, 0, 200],
  },
  {
    name: "ends without having been ready are a crash loop",
    ends: [0, 1_000, 2_000].map((atMs) => ({ atMs, readySinceMs: undefined })),
    decisions: [200, 400, "3 failures"],
  },
  {
    name: "a run that was ready begins the count anew",
    ends: [
      { atMs: 0, readySinceMs: undefined },
      { atMs: 1_000, readySinceMs: undefined },
      { atMs: 2_000, readySinceMs: 1_500 },
      { atMs: 3_000, readySinceMs: undefined },
    ],
    decisions: [200, 400, 800, 1_000],
  },
  {
    name: "failures that are longer ago than the window do not count",
    ends: [0, 1_000, 60_500].map((atMs) => ({ atMs, readySinceMs: undefined })),
    decisions: [200, 400, 800],
  },
];

describe("the restart policy", () => {
  for (const { name, ends, decisions } of cases)
    it(name, () => {
      const history = new RestartHistory(policy);
      const seen = ends.map((end) => {
        const decision = history.note(end);
        return decision.kind === "restart" ? decision.afterMs : `${decision.failures} failures`;
      });
      assert.deepEqual(seen, decisions);
    });
});
