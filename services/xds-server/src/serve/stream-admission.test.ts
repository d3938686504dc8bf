import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Admission } from "./stream-admission.ts";

describe("admission", () => {
  it("lets a burst in at once, spreads the next ones, and turns away what would wait too long", () => {
    let nowMs = 0;
    const admission = new Admission({ perSecond: 10, burst: 2, maxWaitMs: 250, now: () => nowMs });
    const reserve = () => admission.reserve();
    assert.deepEqual([reserve(), reserve(), reserve(), reserve(), reserve()], [0, 0, 100, 200, undefined]);
    nowMs = 100;
    assert.deepEqual([reserve(), reserve()], [200, undefined], "one token came back, all wait their turn");
    nowMs = 10_000;
    assert.deepEqual([reserve(), reserve(), reserve()], [0, 0, 100], "no more than a burst is saved up");
  });
});
