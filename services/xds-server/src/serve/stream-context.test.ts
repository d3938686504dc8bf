/** The timer of a stream that waits: the earliest of the times that it was asked for. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { TurnTimer } from "./stream-context.ts";

it("a stream is woken once, at the earliest time, and not after it ended", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let woken = 0;
  const timer = new TurnTimer(
    () => 0,
    () => woken++,
  );
  timer.wakeAt(30);
  timer.wakeAt(10);
  timer.wakeAt(20);
  const counts = [9, 1, 50].map((ms) => {
    mock.timers.tick(ms);
    return woken;
  });
  assert.deepEqual(counts, [0, 1, 1]);
  timer.wakeAt(10);
  timer.clear();
  mock.timers.tick(50);
  assert.equal(woken, 1);
});
