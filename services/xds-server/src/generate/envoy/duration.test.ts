/** Durations as Envoy's messages and as the text of plans. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { durationOfMs, durationText } from "./duration.ts";

it("a duration as text has nanoseconds where there are some", () => {
  assert.equal(durationText({ seconds: 2n, nanos: 0 }), "2s");
  assert.equal(durationText({ seconds: 0n, nanos: 500_000_000 }), "0s500000000ns");
});

it("a duration of milliseconds has whole seconds and the rest, and is none of 0", () => {
  const [seconds, nanos] = [durationOfMs(2_500)?.seconds, durationOfMs(2_500)?.nanos];
  assert.deepEqual([seconds, nanos, durationOfMs(0)], [2n, 500_000_000, undefined]);
});
