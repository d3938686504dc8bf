/** Where there is no cluster a duty's lease is a value on the bus: one has it, the next gets it when it is released. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { dutyLease } from "./duty-lease.ts";

test("without a cluster one of two candidates has the lease, the other after its release", async () => {
  const stop = new AbortController();
  const connection = { url: "embedded:duty-lease", clientName: "test", log: noopLogger };
  await using bus = await connectBus(connection, stop.signal);
  const leaseOf = (holder: string) =>
    dutyLease({
      name: "status",
      candidate: { holder, version: "1.0.0", isDefaultRevision: true },
      cluster: undefined,
      bus,
    });
  const [one, two] = [await leaseOf("one"), await leaseOf("two")];
  assert.equal(one.isHeld, false);
  assert.deepEqual([await one.hold(), await two.hold()], [true, false]);
  assert.deepEqual([one.isHeld, two.isHeld], [true, false]);
  await one.release();
  assert.deepEqual([await two.hold(), await one.hold()], [true, false]);
  await two.release();
});
