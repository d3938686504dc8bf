import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FuzzReport } from "./run-target.ts";
import { runSideBySide } from "./side-by-side.ts";

const targetsUrl = `data:text/javascript,${encodeURIComponent(`
  const target = (name, run) => ({ name, run, words: ["word"], corpus: [Buffer.from("kept")], isPromised: () => false });
  export const fuzzTargets = [
    target("good", () => undefined),
    target("endless", (input) => { while (input.includes("word")); }),
    target("waiting", (input) => input.includes("word") ? new Promise(() => undefined) : undefined),
    target("ending", (input) => { if (input.includes("word")) process.nextTick(() => { throw new Error("later"); }); }),
    target("failing", (input) => { if (input.includes("word")) throw new TypeError("not promised"); }),
  ];
`)}`;

async function reportsOf(threads: number, ...targets: readonly { readonly name: string; readonly isSlow?: boolean }[]) {
  const reports = new Map<string, FuzzReport>();
  const budget = { seconds: 120, threads, maxInputs: 2_000, seed: 1, maxSilenceMs: 5_000 };
  await runSideBySide(targets, targetsUrl, budget, (name, report) => reports.set(name, report));
  return reports;
}

describe("targets in threads", () => {
  it("have their inputs one after the other, the slow ones last", async () => {
    const reports = await reportsOf(1, { name: "good", isSlow: true }, { name: "failing" });
    assert.deepEqual([...reports.keys()], ["failing", "good"]);
    assert.deepEqual([reports.get("good")?.inputs, reports.get("good")?.failure], [2_000, undefined]);
    const { reason, input } = reports.get("failing")?.failure ?? {};
    assert.match(reason ?? "", /TypeError: not promised/);
    assert.ok(input?.includes("word"));
  });

  it("name the input that never ends, or that ends the thread, and go on with the next target", async () => {
    const names = ["endless", "waiting", "ending", "good"];
    const reports = await reportsOf(2, ...names.map((name) => ({ name })));
    for (const name of ["endless", "waiting"]) {
      const { reason, input } = reports.get(name)?.failure ?? {};
      assert.match(reason ?? "", /does not end within 5000 ms/);
      assert.ok(input?.includes("word"), name);
    }
    assert.match(reports.get("ending")?.failure?.reason ?? "", /ended the thread: Error: later/);
    assert.equal(reports.get("good")?.failure, undefined);
  });
});
