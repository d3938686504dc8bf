import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checksum, fnv1a } from "./fnv1a.ts";

describe("fnv1a", () => {
  // The published vectors of FNV-1a, 32 bits, and one of two bytes in UTF-8.
  for (const [text, hash] of [
    ["", 0x811c9dc5],
    ["a", 0xe40c292c],
    ["foobar", 0xbf9cf968],
    ["ü", bytesHash([0xc3, 0xbc])],
  ] as const)
    it(`of "${text}"`, () => assert.equal(fnv1a(text), hash));
});

/** The definition, byte by byte, without 32-bit multiplication. */
function bytesHash(bytes: readonly number[]): number {
  const hash = bytes.reduce((state, byte) => ((state ^ BigInt(byte)) * 0x01000193n) & 0xffffffffn, 0x811c9dc5n);
  return Number(hash);
}

describe("a checksum", () => {
  it("has 16 hexadecimal digits, leading zeros included", () => {
    const lengths = new Set(Array.from({ length: 2_000 }, (_, i) => checksum(`resource-${i}`).length));
    assert.deepEqual([...lengths], [16]);
  });
  it("differs for texts that differ, and is the same for the same text everywhere", () => {
    const all = new Set(Array.from({ length: 20_000 }, (_, i) => checksum(`outbound|80||service-${i}.shop`)));
    assert.equal(all.size, 20_000);
    assert.equal(checksum(""), "811c9dc5c9dc5118");
    assert.notEqual(checksum("ab"), checksum("ba"));
  });
});
