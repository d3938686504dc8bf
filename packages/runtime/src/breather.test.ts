import assert from "node:assert/strict";
import { test } from "node:test";
import { Breather } from "./breather.ts";

test("others have their turn when a slice is used up, and a slice begins anew", async () => {
  const breather = new Breather(2);
  let turns = 0;
  setImmediate(() => turns++);
  for (const end = performance.now() + 3; performance.now() < end; );
  assert.equal(breather.isDue, true);
  assert.equal(turns, 0);
  await breather.rest();
  assert.equal(turns, 1);
  assert.equal(new Breather(60_000).isDue, false);
});
