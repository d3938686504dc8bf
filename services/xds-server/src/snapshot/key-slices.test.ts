import assert from "node:assert/strict";
import { test } from "node:test";
import { checkProperty, fc } from "@flotilla/testkit";
import { changedSlices, type SliceText, sliceKeys, sliceTexts } from "./row-index.ts";

const sliced = Array.from({ length: 2000 }, (_, i) => `outbound|80||svc-${i}.mesh.example`);

test("slices hold every key once, in order", () => {
  for (const list of [sliced, sliced.slice(0, 1), []]) assert.deepEqual(sliceTexts(list).flatMap(sliceKeys), list);
});

test("a key more or less leaves the slices of the others as they are", () => {
  const before = new Set(sliceTexts(sliced));
  for (const list of [sliced.toSpliced(700, 1), sliced.toSpliced(700, 0, "outbound|80||new.mesh.example")]) {
    const changed = sliceTexts(list).filter((text) => !before.has(text));
    assert.ok(changed.length <= 2, `${changed.length} of ${before.size} slices changed`);
  }
});

const numbered: readonly (readonly [name: string, key: (number: number) => string])[] = [
  ["clusters", (number) => `outbound|80||svc-${number}.mesh.example`],
  [
    "virtual hosts whose names hold their number twice",
    (number) => `svc-${number}.example.com|80|80|a/External/svc-${number}.example.com|||counted|||`,
  ],
  ["virtual hosts", (number) => `svc-${number}.mesh.example|80|0|mesh/External/svc-${number}|||counted|||`],
];
for (const [name, key] of numbered)
  test(`slices of ${name} are neither few nor many`, () => {
    const lengths = sliceTexts(Array.from({ length: 2000 }, (_, i) => key(i))).map((text) => sliceKeys(text).length);
    assert.ok(lengths.length > 20 && lengths.length < 90, `${lengths.length} slices`);
    assert.ok(Math.max(...lengths) <= 384);
  });

test("keys that come and go one by one leave the slices that the whole list has, and other slices as they are", () => {
  const change = fc.record({ number: fc.nat({ max: 3_000 }), isThere: fc.boolean() });
  const holds = (changes: readonly { readonly number: number; readonly isThere: boolean }[]) => {
    const keys = new Set(sliced.slice(0, 600).sort());
    let slices: readonly SliceText[] = sliceTexts([...keys]);
    for (const { number, isThere } of changes) {
      const key = `outbound|80||svc-${number}.mesh.example`;
      if (isThere) keys.add(key);
      else keys.delete(key);
      const before = new Set(slices);
      slices = changedSlices(slices, key, isThere);
      assert.ok(slices.filter((slice) => !before.has(slice)).length <= 3);
    }
    assert.deepEqual(slices, sliceTexts([...keys].sort()));
  };
  checkProperty(fc.array(change, { maxLength: 100 }), holds, { runs: 50 });
});

test("of runs without a natural end a key in the middle moves the cuts behind it", () => {
  const endless = sliced.filter((key) => sliceTexts([key, "z"]).length === 1).sort();
  const [middle = ""] = endless.splice(10, 1);
  const before = sliceTexts(endless);
  const whole = [...endless, middle].sort();
  assert.deepEqual(changedSlices(before, middle, true), sliceTexts(whole));
  assert.deepEqual(changedSlices(sliceTexts(whole), middle, false), before);
});

test("the first key makes a slice, and the last one leaves none", () => {
  assert.deepEqual(changedSlices([], "a", true), ["a"]);
  assert.deepEqual(changedSlices(sliceTexts(["a"]), "a", false), []);
  assert.deepEqual(changedSlices(sliceTexts(["b"]), "a", false), ["b"]);
});
