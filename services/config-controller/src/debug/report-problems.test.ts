import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { oncePerTurn } from "./report-problems.ts";

test("many calls are one report, and a later call is another", async () => {
  let reports = 0;
  const report = oncePerTurn(() => void reports++);
  for (let call = 0; call < 1_000; call++) report();
  assert.equal(reports, 0);
  await setImmediate();
  assert.equal(reports, 1);
  report();
  await setImmediate();
  assert.equal(reports, 2);
});
