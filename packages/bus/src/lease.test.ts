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

it("a lease is lost when somebody else has it, or was faster, and is freed by its holder alone", async () => {
  let stored: { value: Uint8Array; revision: number } | undefined;
  let isOvertaken = false;
  const deleted: string[] = [];
  const values: Pick<KeyValue, "get" | "update" | "delete"> = {
    get: () => Promise.resolve(stored as Awaited<ReturnType<KeyValue["get"]>>),
    update: (_, value, revision) => {
      if (isOvertaken || revision !== (stored?.revision ?? 0)) return Promise.resolve(undefined);
      stored = { value: value as Uint8Array, revision: revision + 1 };
      return Promise.resolve(stored.revision);
    },
    delete: (key) => {
      deleted.push(key);
      stored = undefined;
      return Promise.resolve();
    },
  };
  const leaseOf = (holder: string) =>
    new Lease({
      ...{ values: values as KeyValue, key: "lead", holder, ttlMs: 15_000 },
      ...{ nowMs: () => 0, wallClockMs: () => 0 },
    });
  const [a, b] = [leaseOf("a"), leaseOf("b")];
  assert.deepEqual([await a.hold(), await b.hold(), await a.hold()], [true, false, true]);
  assert.deepEqual([a.isHeld, b.isHeld], [true, false]);
  await b.release();
  assert.deepEqual(deleted, []);
  isOvertaken = true;
  assert.deepEqual([await a.hold(), a.isHeld], [false, false]);
  isOvertaken = false;
  assert.equal(await a.hold(), true);
  stored = { value: new TextEncoder().encode("b"), revision: 9 };
  assert.deepEqual([await a.hold(), a.isHeld], [false, false]);
  assert.deepEqual([await b.hold(), b.isHeld], [true, true]);
  await b.release();
  assert.deepEqual([deleted, b.isHeld], [["lead"], false]);
});

it("a renewal reads the value only where it is another one than was written", async () => {
  let stored: { value: Uint8Array; revision: number } | undefined;
  let [reads, revision] = [0, 0];
  const values: Pick<KeyValue, "get" | "update"> = {
    get: () => {
      reads++;
      return Promise.resolve(stored as Awaited<ReturnType<KeyValue["get"]>>);
    },
    update: (_, value, over) => {
      if (over !== (stored?.revision ?? 0)) return Promise.resolve(undefined);
      stored = { value: value as Uint8Array, revision: ++revision };
      return Promise.resolve(revision);
    },
  };
  const lease = new Lease({
    ...{ values: values as KeyValue, key: "lead", holder: "a", ttlMs: 15_000 },
    ...{ nowMs: () => 0, wallClockMs: () => 0 },
  });
  assert.deepEqual([await lease.hold(), await lease.hold(), reads], [true, true, 1]);
  // The servers lost it.
  stored = undefined;
  assert.deepEqual([await lease.hold(), lease.isHeld, reads], [true, true, 2]);
  stored = { value: new TextEncoder().encode("b"), revision: ++revision };
  assert.deepEqual([await lease.hold(), lease.heldForMs, reads], [false, 0, 3]);
});
