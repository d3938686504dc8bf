import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type End, lastingFailure, RestartHistory } from "./restart-policy.ts";

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

describe("a run that fails its check", () => {
  const policy = { everyMs: 0, forMs: 20 };
  const running = new AbortController().signal;
  /** A run that is asked every 10 ms, with its answers. */
  const aRun = (answers: readonly (string | undefined)[], now: { mock: (timesMs: () => number) => void }) => {
    let asked = 0;
    now.mock(() => (asked - 1) * 10);
    return {
      asked: () => asked,
      failure: async () => {
        if (asked === answers.length) assert.fail("it is asked too often");
        return answers[asked++];
      },
    };
  };

  const cases: readonly (readonly [name: string, answers: readonly (string | undefined)[], reason: string])[] = [
    ["has failed when it did so for long enough, with the last reason", ["a", "b", "c"], "c"],
    ["begins anew after it was well", ["a", undefined, "b", "c", "d"], "d"],
    ["need not fail from the begin", [undefined, undefined, "a", "a", "b"], "b"],
  ];
  for (const [name, answers, reason] of cases)
    it(name, async (t) => {
      const run = aRun(answers, { mock: (timesMs) => void t.mock.method(performance, "now", timesMs) });
      assert.equal(await lastingFailure(run, policy, running), reason);
      assert.equal(run.asked(), answers.length);
    });

  it("has failed when the check itself fails for long enough", async () => {
    const failure = () => Promise.reject(new Error("no such directory"));
    const reason = await lastingFailure({ failure }, { everyMs: 0, forMs: 0 }, running);
    assert.equal(reason, "its check failed: no such directory");
  });

  it("is not asked when it is over, or cannot be", async () => {
    assert.equal(await lastingFailure({}, policy, running), undefined);
    const failure = () => assert.fail("it is over");
    assert.equal(await lastingFailure({ failure }, policy, AbortSignal.abort()), undefined);
  });
});
