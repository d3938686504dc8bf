import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checksumOnly, entryTag } from "./entry-codec.ts";
import { EntryTags } from "./entry-tags.ts";

const tagOf = (key: string, value: string) => entryTag(checksumOnly, key, Buffer.from(value));
const many = Array.from({ length: 300 }, (_, i) => [`key ${i}`, tagOf(`key ${i}`, "v")] as const);

/** Numbers of some tags whose bits cancel each other out: any 129 tags of 128 bits have such a set, and elimination finds it. */
function cancelling(tags: readonly string[]): readonly number[] {
  const rows: { readonly value: bigint; readonly from: bigint }[] = [];
  for (const [at, tag] of tags.entries()) {
    let [value, from] = [BigInt(`0x${tag}`), 1n << BigInt(at)];
    for (const row of rows) if ((value ^ row.value) < value) [value, from] = [value ^ row.value, from ^ row.from];
    if (value === 0n) return tags.flatMap((_, i) => ((from >> BigInt(i)) & 1n ? [i] : []));
    rows.push({ value, from });
    rows.sort((a, b) => (a.value < b.value ? 1 : -1));
  }
  return [];
}

describe("tags of entries", () => {
  it("a digest carried forward is that of the whole, in any order", async () => {
    const whole = await EntryTags.empty.with(many);
    const reversed = await EntryTags.empty.with(many.toReversed());
    assert.equal(whole.digest, reversed.digest);
    const changed = await whole.with([
      ["key 7", tagOf("key 7", "w")],
      ["key 8", undefined],
      ["new", tagOf("new", "v")],
    ]);
    const anew = new Map([...many, ["key 7", tagOf("key 7", "w")] as const, ["new", tagOf("new", "v")] as const]);
    anew.delete("key 8");
    assert.equal(changed.digest, (await EntryTags.empty.with(anew)).digest);
    assert.deepEqual([changed.size, whole.size], [300, 300]);
    assert.equal((await whole.with(many.map(([key]) => [key, undefined]))).digest, EntryTags.empty.digest);
  });

  it("entries whose tags cancel each other out cannot be taken away unnoticed", async () => {
    const gone = cancelling(many.map(([, tag]) => tag));
    assert.ok(gone.length > 1);
    const sum = gone.reduce((bits, at) => bits ^ BigInt(`0x${many[at]?.[1]}`), 0n);
    assert.equal(sum, 0n);
    const whole = await EntryTags.empty.with(many);
    const less = await whole.with(gone.map((at) => [many[at]?.[0] ?? "", undefined]));
    assert.notEqual(less.digest, whole.digest);
  });

  it("gives way to others while it takes many changes", async () => {
    let isOthersTurn = false;
    setImmediate(() => {
      isOthersTurn = true;
    });
    const turns: boolean[] = [];
    function* changes() {
      for (const change of many.slice(0, 2)) {
        turns.push(isOthersTurn);
        const begun = performance.now();
        while (performance.now() - begun < 50);
        yield change;
      }
    }
    await EntryTags.empty.with(changes());
    assert.deepEqual(turns, [false, true]);
  });

  it("the same tags at other keys have another digest", async () => {
    const [one, other] = [many[0]?.[1] ?? "", many[1]?.[1] ?? ""];
    const first = await EntryTags.empty.with([
      ["a", one],
      ["b", other],
    ]);
    const second = await EntryTags.empty.with([
      ["a", other],
      ["b", one],
    ]);
    assert.notEqual(first.digest, second.digest);
  });
});
