import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checksumOnly, entryTag, packEntry, unpackEntry } from "./entry-codec.ts";

describe("entry codec", () => {
  for (const [form, length] of [
    ["raw", 0],
    ["raw", 1023],
    ["deflate", 1024],
    ["deflate", 16_383],
    ["zstd", 16_384],
    ["zstd", 300_000],
  ] as const) {
    it(`${length} bytes travel ${form} and come back`, () => {
      const value = Buffer.alloc(length, "hosts: a.example.com ");
      const packed = packEntry(value);
      assert.equal(packed[0], { raw: 0, zstd: 1, deflate: 2 }[form]);
      assert.deepEqual(Buffer.from(unpackEntry(packed)), value);
      if (form !== "raw") assert.ok(packed.length < length / 4);
    });
  }

  it("refuses what is not an entry", () => {
    assert.throws(() => unpackEntry(Buffer.of(9, 1, 2)), /form 9/);
    assert.throws(() => unpackEntry(Buffer.of(1, 1, 2)));
    assert.throws(() => unpackEntry(Buffer.of()), /form undefined/);
  });

  it("a tag is of a key and a value", () => {
    const tagOf = (key: string, value: string) => entryTag(checksumOnly, key, Buffer.from(value));
    assert.notEqual(tagOf("k", "v"), tagOf("kv", ""));
  });
});
