import assert from "node:assert/strict";
import { test } from "node:test";
import { surplus } from "./balance.ts";

test("a replica alone, with its share or a little more keeps all", () => {
  assert.equal(surplus(500, []), 0);
  assert.equal(surplus(100, [100]), 0);
  assert.equal(surplus(104, [96]), 0);
  assert.equal(surplus(2, [1]), 0);
  assert.equal(surplus(0, [50]), 0);
});

test("half of what is too much is handed off", () => {
  assert.equal(surplus(1_000, [0]), 250);
  assert.equal(surplus(300, [0, 0]), 100);
  assert.equal(surplus(3, [0]), 1);
});

test("hand-offs that a balancer sends anywhere end within a fifth of the mean", () => {
  const counts = [1_000, 0, 0];
  // A balancer that takes turns, and replicas that see counts of a moment ago.
  for (let round = 0, turn = 0; round < 30; round++) {
    const before = [...counts];
    const leaving = before.map((own, i) =>
      Math.min(
        50,
        surplus(
          own,
          before.filter((_, j) => j !== i),
        ),
      ),
    );
    for (const [i, count] of leaving.entries()) {
      for (let k = 0; k < count; k++) {
        counts[i] = (counts[i] ?? 0) - 1;
        const to = turn++ % counts.length;
        counts[to] = (counts[to] ?? 0) + 1;
      }
    }
  }
  assert.ok(Math.max(...counts) / (1_000 / 3) < 1.2, counts.join());
});
