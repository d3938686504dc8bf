import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SliceText } from "../../snapshot/row-index.ts";
import { SliceGroups } from "./slice-groups.ts";

const slices = (count: number): SliceText[] => Array.from({ length: count }, (_, i) => `slice ${i}` as SliceText);

describe("groups of slices", () => {
  it("hold the list in order, none of them empty", () => {
    const groups = new SliceGroups();
    for (const count of [0, 1, 16, 17, 100]) {
      const found = groups.of(slices(count));
      assert.deepEqual(found.flat(), slices(count));
      assert.ok(found.every(({ length }) => length > 0 && length <= 16));
    }
  });

  const changes: readonly { readonly name: string; readonly change: (list: SliceText[]) => void }[] = [
    { name: "another slice in place of one", change: (list) => list.splice(40, 1, "other" as SliceText) },
    { name: "the first slice cut in two", change: (list) => list.splice(0, 1, "a" as SliceText, "b" as SliceText) },
    { name: "one slice less", change: (list) => list.splice(50, 1) },
    { name: "one more at the end", change: (list) => list.push("z" as SliceText) },
  ];
  for (const { name, change } of changes)
    it(`stay the identical ones but for one or two: ${name}`, () => {
      const groups = new SliceGroups();
      const before = groups.of(slices(160));
      const list = slices(160);
      change(list);
      const after = groups.of(list);
      assert.deepEqual(after.flat(), list);
      const fresh = after.filter((group) => !before.includes(group));
      assert.ok(fresh.length >= 1 && fresh.length <= 2, `${fresh.length} are new`);
    });

  it("are the identical list where nothing changed", () => {
    const groups = new SliceGroups();
    assert.equal(groups.of(slices(100)), groups.of(slices(100)));
  });

  it("are made anew once too many of them are short", () => {
    const groups = new SliceGroups();
    let list = slices(64);
    for (let round = 0; round < 200; round++) {
      const at = (round * 7) % list.length;
      list = [...list.slice(0, at), `${round} a` as SliceText, `${round} b` as SliceText, ...list.slice(at + 2)];
      const found = groups.of(list);
      assert.deepEqual(found.flat(), list);
      assert.ok(found.length <= 4 + 2 * Math.ceil(list.length / 16), `${found.length} groups`);
    }
  });
});
