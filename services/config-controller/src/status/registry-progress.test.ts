import assert from "node:assert/strict";
import { test } from "node:test";
import { RegistryProgress } from "./registry-progress.ts";

test("a change takes effect where what follows from it was first published", () => {
  const progress = new RegistryProgress();
  const steps = [
    { epoch: "e", read: 5, told: 7 },
    { epoch: "e", read: 9, told: 8 },
    { epoch: "e", read: 9, told: 30 },
  ];
  assert.equal(progress.effectOf(1, "e"), undefined);
  for (const step of steps) progress.note(step);
  assert.deepEqual(
    [3, 5, 6, 9, 10].map((position) => progress.effectOf(position, "e")),
    [7, 7, 8, 9, undefined],
  );
  assert.equal(progress.effectOf(3, "another"), undefined);
  progress.note({ epoch: "another", read: 2, told: 3 });
  assert.deepEqual([progress.effectOf(1, "another"), progress.effectOf(3, "e")], [3, undefined]);
});
