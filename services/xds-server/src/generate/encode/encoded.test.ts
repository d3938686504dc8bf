import assert from "node:assert/strict";
import { test } from "node:test";
import { sliceKeys, sliceTexts } from "./encoded.ts";

const keys = Array.from({ length: 2000 }, (_, i) => `outbound|80||svc-${i}.mesh.example`);

test("slices hold every key once, in order", () => {
  for (const list of [keys, keys.slice(0, 1), []]) assert.deepEqual(sliceTexts(list).flatMap(sliceKeys), list);
});

test("a key more or less leaves the slices of the others as they are", () => {
  const before = new Set(sliceTexts(keys));
  for (const list of [keys.toSpliced(700, 1), keys.toSpliced(700, 0, "outbound|80||new.mesh.example")]) {
    const changed = sliceTexts(list).filter((text) => !before.has(text));
    assert.ok(changed.length <= 2, `${changed.length} of ${before.size} slices changed`);
  }
});

test("slices are neither few nor many", () => {
  const lengths = sliceTexts(keys).map((text) => sliceKeys(text).length);
  assert.ok(lengths.length > 20 && lengths.length < 90, `${lengths.length} slices`);
  assert.ok(Math.max(...lengths) <= 384);
});
