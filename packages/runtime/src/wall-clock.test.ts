import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ageMs, delayByWallClock } from "./wall-clock.ts";

const hourMs = 3_600_000;

describe("wall clock", () => {
  it("an age is what passed, and that of a thing from the future is more than any", () => {
    assert.equal(ageMs(1_000, 5_000), 4_000);
    assert.equal(ageMs(5_000, 1_000), Number.POSITIVE_INFINITY);
  });

  it("a delay of an hour ends soon after a jump over it", async () => {
    let jumpMs = 0;
    const before = performance.now();
    const waiting = delayByWallClock(hourMs, undefined, () => Date.now() + jumpMs);
    jumpMs = 48 * hourMs;
    await waiting;
    assert.ok(performance.now() - before < 30_000);
  });

  it("a clock that is set back makes no delay longer", async () => {
    let jumpMs = 0;
    const before = performance.now();
    const waiting = delayByWallClock(200, undefined, () => Date.now() + jumpMs);
    jumpMs = -48 * hourMs;
    await waiting;
    assert.ok(performance.now() - before >= 199);
    assert.ok(performance.now() - before < 30_000);
  });

  it("ends when it is stopped", async () => {
    const stop = new AbortController();
    const waiting = delayByWallClock(hourMs, stop.signal);
    stop.abort();
    await waiting;
  });
});
