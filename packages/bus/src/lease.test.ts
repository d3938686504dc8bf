import assert from "node:assert/strict";
import { it } from "node:test";
import type { KeyValue } from "./key-value.ts";
import { Lease } from "./lease.ts";

it("a lease ends by the clock that has gone on further: a machine that slept has lost it", async () => {
  const values: Pick<KeyValue, "get" | "update"> = {
    get: () => Promise.resolve(undefined),
    update: () => Promise.resolve(1),
  };
  let [steadyMs, wallMs] = [0, 1_000_000];
  const lease = new Lease({
    ...{ values: values as KeyValue, key: "lead", holder: "a", ttlMs: 15_000 },
    ...{ nowMs: () => steadyMs, wallClockMs: () => wallMs },
  });
  assert.equal(await lease.hold(), true);
  wallMs += 9_999;
  assert.equal(lease.isHeld, true);
  wallMs += 2;
  assert.equal(lease.isHeld, false, "slept");
  wallMs -= 172_800_000;
  assert.equal(lease.isHeld, true, "set back");
  steadyMs += 10_001;
  assert.equal(lease.isHeld, false, "set back, and its time is over");
});
