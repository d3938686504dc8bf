import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FairQueue } from "./fair-queue.ts";

describe("fair queue", () => {
  it("a flood of one identity does not delay the others by more than their turns", async () => {
    const queue = new FairQueue({ maxPending: 1000, maxPendingPerIdentity: 1000 });
    const done: string[] = [];
    const jobs = Array.from({ length: 100 }, (_, i) => queue.run("flood", () => done.push(`flood ${i}`)));
    jobs.push(
      queue.run("quiet", () => done.push("quiet 0")),
      queue.run("quiet", () => done.push("quiet 1")),
    );
    await Promise.all(jobs);
    assert.deepEqual(done.slice(0, 4), ["flood 0", "quiet 0", "flood 1", "quiet 1"]);
    assert.deepEqual([done.length, done.at(-1), queue.pending], [102, "flood 99", 0]);
  });

  it("a full line is refused, other lines are not, and the whole is bounded", async () => {
    const queue = new FairQueue({ maxPending: 4, maxPendingPerIdentity: 2 });
    const results = await Promise.allSettled(
      ["a", "a", "a", "b", "b", "c"].map((identity) => queue.run(identity, () => identity)),
    );
    assert.deepEqual(
      results.map((result) => (result.status === "fulfilled" ? result.value : result.reason.code)),
      ["a", "a", "CA_BUSY", "b", "b", "CA_BUSY"],
    );
    assert.equal(await queue.run("a", () => "again"), "again");
  });

  it("an error belongs to its request", async () => {
    const queue = new FairQueue({ maxPending: 9, maxPendingPerIdentity: 9 });
    const [bad, good] = await Promise.allSettled([
      queue.run("a", () => {
        throw new Error("x");
      }),
      queue.run("a", () => 1),
    ]);
    assert.deepEqual([bad.status, good.status], ["rejected", "fulfilled"]);
  });

  it("the event loop turns between slices", async () => {
    const queue = new FairQueue({ maxPending: 100, maxPendingPerIdentity: 100, sliceMs: 0 });
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const busy = () => {
      const until = performance.now() + 2;
      while (performance.now() < until);
    };
    await Promise.all(Array.from({ length: 20 }, () => queue.run("a", busy)));
    clearInterval(timer);
    assert.ok(turns >= 5, `${turns} turns`);
  });
});
