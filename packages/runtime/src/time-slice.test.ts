import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeSlice } from "./time-slice.ts";

test("others have their turn when a slice is used up, and a slice begins anew", async () => {
  const timeSlice = new TimeSlice(2);
  let turns = 0;
  setImmediate(() => turns++);
  for (const end = performance.now() + 3; performance.now() < end; );
  assert.equal(timeSlice.isDue, true);
  assert.equal(turns, 0);
  await timeSlice.yield();
  assert.equal(turns, 1);
  assert.equal(new TimeSlice(60_000).isDue, false);
});
