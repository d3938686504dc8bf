/** Promises that every implementation of the store keeps; run by the tests of both. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { until } from "@flotilla/runtime";
import type { Snapshot, SnapshotStore } from "./snapshot-store.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** Each call of `open` opens the same, initially empty, store. */
export function storeConformance(open: () => Promise<SnapshotStore>): void {
  it("has nothing at first, then what was written", async () => {
    await using store = await open();
    assert.equal(await store.load(), undefined);
    assert.deepEqual((await store.claim())?.stored, new Map());
    const large = "x".repeat(5_000);
    assert.ok(
      await store.write({
        position: 7,
        entries: new Map([
          ["a", bytes("1")],
          ["b", bytes(large)],
        ]),
      }),
    );
    assert.ok(
      await store.write({
        position: 9,
        entries: new Map([
          ["a", undefined],
          ["c", bytes("3")],
        ]),
      }),
    );
    const snapshot = await store.load();
    assert.equal(snapshot?.position, 9);
    const texts = [...(snapshot?.entries ?? [])].map(([key, value]) => [key, new TextDecoder().decode(value)]);
    assert.deepEqual(
      new Map(texts as [string, string][]),
      new Map([
        ["b", large],
        ["c", "3"],
      ]),
    );
  });

  it("has one writer at a time, and the next receives what is stored", async () => {
    const first = await open();
    await using second = await open();
    assert.ok(await first.claim());
    await first.write({ position: 10, entries: new Map([["d", bytes("4")]]) });
    assert.equal(await second.claim(), undefined);
    assert.equal(await second.write({ position: 11, entries: new Map([["d", bytes("5")]]) }), false);
    await first[Symbol.asyncDispose]();
    const claimed = await second.claim();
    assert.equal(claimed?.stored.get("d"), claimed?.tagOf("d", bytes("4")));
    assert.notEqual(claimed?.stored.get("d"), claimed?.tagOf("d", bytes("5")));
    assert.ok(await second.write({ position: 12, entries: new Map([["d", undefined]]) }));
    assert.equal((await second.load())?.entries.has("d"), false);
  });

  it("keeps records of replicas for a while", async () => {
    await using store = await open();
    const parts = new Map([["a", { n: 1 }]]);
    assert.equal(await store.putReplica("one", { summary: { streams: 3 }, parts, isWhole: true }, 60_000), 1);
    assert.equal(
      await store.putReplica("two", { summary: { streams: 4 }, parts: new Map(), isWhole: true }, 60_000),
      0,
    );
    assert.deepEqual(
      await store.replicas(),
      new Map([
        ["one", { streams: 3 }],
        ["two", { streams: 4 }],
      ]),
    );
    assert.deepEqual((await store.replicaParts()).get("one"), parts);
    const others = await store.replicaParts("one");
    assert.deepEqual([others.has("one"), others.has("two")], [false, true]);
  });

  it("writes parts of a replica that changed, and reports how many there are", async () => {
    await using store = await open();
    const put = (parts: Readonly<Record<string, unknown>>, isWhole = false) =>
      store.putReplica("partly", { summary: {}, parts: new Map(Object.entries(parts)), isWhole }, 60_000);
    const stored = async () => Object.fromEntries((await store.replicaParts()).get("partly") ?? []);
    assert.equal(await put({ a: 1, b: 2 }, true), 2);
    assert.equal(await put({ b: 3, c: 4 }), 3);
    assert.equal(await put({ a: undefined }), 2);
    assert.deepEqual(await stored(), { b: 3, c: 4 });
    assert.equal(await put({ d: 5 }, true), 1);
    assert.deepEqual(await stored(), { d: 5 });
  });

  it("carries the epoch of the position, and the mark", async () => {
    await using store = await open();
    await store.claim();
    await store.write({ position: 13, epoch: "e1", mark: "13/1", entries: new Map() });
    assert.deepEqual(pick(await store.load()), { position: 13, epoch: "e1", mark: "13/1" });
    await store.write({ position: 14, entries: new Map() });
    assert.deepEqual(pick(await store.load()), { position: 14 });
  });

  it("a writer that says nothing loses its place, and cannot write any more", async () => {
    await using first = await open();
    await using second = await open();
    assert.ok(await first.claim());
    assert.ok(await first.write({ position: 15, entries: new Map() }));
    assert.equal(await second.claim(), undefined);
    await until(() => second.claim(), { withinMs: 5_000, what: "the lock to expire", everyMs: 20 });
    assert.equal(await first.write({ position: 16, entries: new Map([["x", bytes("late")]]) }), false);
    assert.equal((await second.load())?.position, 15);
    assert.ok(await second.write({ position: 17, entries: new Map() }));
  });

  it("of many that want to write, one does", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    const claims = await Promise.all(stores.map((store) => store.claim()));
    assert.equal(claims.filter((claim) => claim !== undefined).length, 1);
    const written = await Promise.all(
      stores.map((store, i) => store.write({ position: 100 + i, entries: new Map([["w", bytes(`${i}`)]]) })),
    );
    const winner = claims.findIndex((claim) => claim !== undefined);
    assert.deepEqual(
      written,
      stores.map((_, i) => i === winner),
    );
    for (const store of stores) await store[Symbol.asyncDispose]();
  });

  it("records of replicas vanish when they are not renewed", async () => {
    await using store = await open();
    await store.putReplica("short", { summary: {}, parts: new Map([["a", 1]]), isWhole: true }, 1_000);
    assert.ok((await store.replicas()).has("short"));
    await until(async () => !(await store.replicas()).has("short"), { withinMs: 5_000, what: "the record to expire" });
    assert.equal(await store.putReplica("short", { summary: {}, parts: new Map(), isWhole: false }, 1_000), 0);
  });

  it("the record of a replica that ended is gone at once", async () => {
    await using store = await open();
    await store.putReplica("ended", { summary: {}, parts: new Map([["a", 1]]), isWhole: true }, 60_000);
    await store.removeReplica("ended");
    assert.ok(!(await store.replicas()).has("ended"));
    assert.ok(!(await store.replicaParts()).has("ended"));
    await store.removeReplica("ended");
  });

  it("disposing twice is legal", async () => {
    const store = await open();
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
}

function pick(snapshot: Snapshot | undefined) {
  if (snapshot === undefined) return undefined;
  const { entries: _, setAside: __, ...rest } = snapshot;
  return rest;
}
