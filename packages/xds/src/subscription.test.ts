import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "@flotilla/proto/testing";
import { joinedNames, nameSet, namesOfKey, noNames, sameNames } from "./stream-types.ts";

describe("sets of names", () => {
  it("are equal by what they hold, in whatever order it came", () => {
    const [first, second] = [nameSet(["b", "a", "", "b"]), noNames.with(["a"]).with(["b"])];
    assert.deepEqual([first.key, [...first], first.size], ["a\nb", ["a", "b"], 2]);
    assert.ok(sameNames(first, second));
    assert.ok(!sameNames(first, first.with(["c"])));
    assert.deepEqual(namesOfKey(second.key), ["a", "b"]);
  });

  it("stay as they are when others grow out of them, in two directions too", () => {
    const base = nameSet(["m"]);
    const [left, right] = [base.with(["z", "a"]), base.with(["b"])];
    assert.deepEqual([base.key, left.key, right.key], ["m", "a\nm\nz", "b\nm"]);
    assert.deepEqual(
      [base, left, right].map((set) => ["a", "b", "m", "z"].filter((name) => set.has(name)).join("")),
      ["m", "amz", "bm"],
    );
    assert.equal(left.with(["a", "", "m"]), left);
    assert.deepEqual(
      [[...joinedNames(new Set(["y"]), right)], [...joinedNames(base, noNames)]],
      [["y", "b", "m"], ["m"]],
    );
  });

  it("hold what copies of them would hold, after any sequence of additions", () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = seededRandom(seed);
      const grown = [{ set: noNames, copy: new Set<string>() }];
      for (let turn = 0; turn < 60; turn++) {
        const from = grown[Math.floor(random() * grown.length)];
        if (from === undefined) continue;
        const more = Array.from({ length: Math.floor(random() * 4) }, () => `n${Math.floor(random() * 40)}`);
        grown.push({ set: from.set.with(more), copy: new Set([...from.copy, ...more]) });
      }
      for (const { set, copy } of grown) {
        assert.deepEqual([...set], [...copy].sort(), `seed ${seed}`);
        assert.equal(set.size, copy.size);
        for (let name = 0; name < 40; name++) assert.equal(set.has(`n${name}`), copy.has(`n${name}`));
      }
    }
  });

  it("take no time that grows with their square: 50,000 names come one by one", () => {
    let set = noNames;
    for (let name = 0; name < 50_000; name++) set = set.with([`kubernetes://certificate-${name}`]);
    assert.deepEqual([set.size, set.has("kubernetes://certificate-49999")], [50_000, true]);
  });
});
