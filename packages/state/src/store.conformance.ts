/** What every implementation of the store keeps; run by the tests of both. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { entryHash } from "./entry-codec.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

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

  it("has one writer at a time, and the next is told what is stored", async () => {
    const first = await open();
    await using second = await open();
    assert.ok(await first.claim());
    await first.write({ position: 10, entries: new Map([["d", bytes("4")]]) });
    assert.equal(await second.claim(), undefined);
    assert.equal(await second.write({ position: 11, entries: new Map([["d", bytes("5")]]) }), false);
    await first[Symbol.asyncDispose]();
    const claimed = await second.claim();
    assert.equal(claimed?.stored.get("d"), entryHash("d", bytes("4")));
    assert.ok(await second.write({ position: 12, entries: new Map([["d", undefined]]) }));
    assert.equal((await second.load())?.entries.has("d"), false);
  });

  it("keeps records of replicas for a while", async () => {
    await using store = await open();
    await store.putReplica("one", { streams: 3 }, 60_000);
    await store.putReplica("two", { streams: 4 }, 60_000);
    assert.deepEqual(
      await store.replicas(),
      new Map([
        ["one", { streams: 3 }],
        ["two", { streams: 4 }],
      ]),
    );
  });
}
