/** Where there is no cluster a duty's lease is a value on the bus: one has it, the next gets it when it is released. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus } from "@flotilla/bus";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger } from "@flotilla/runtime";
import { dutyLease, leaseOfCluster } from "./duty-lease.ts";

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

test("without an election a process has the duty beside a holder of the Lease, and writes none", async () => {
  const memory = createMemoryApi();
  const candidate = (holder: string) => ({ holder, version: "1.0.0", isDefaultRevision: true });
  const place = { api: memory.api, namespace: "mesh", name: "status" };
  const elected = leaseOfCluster({ ...place, candidate: candidate("one") });
  assert.equal(await elected.hold(), true);
  const writes = memory.writes.length;
  assert.ok(writes > 0);
  const single = leaseOfCluster({ ...place, candidate: candidate("two"), electsLeaders: false });
  assert.deepEqual([await single.hold(), single.isHeld], [true, true]);
  await single.release();
  assert.equal(memory.writes.length, writes);
  assert.equal(elected.isHeld, true);
});
