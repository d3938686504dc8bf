import assert from "node:assert/strict";
import { test } from "node:test";
import { checkProperty, fc } from "@flotilla/testkit";
import { Bodies } from "./message-body.ts";
import {
  diffVersions,
  type Resource,
  type ResourceSet,
  ResourceSlice,
  SlicedResources,
  withFormer,
} from "./resource-set.ts";

const typeUrl = "type.googleapis.com/test";

function slice(...names: readonly string[]): ResourceSlice {
  return new ResourceSlice(names.map((text) => aResource(text)));
}

/** `name@version`. */
function aResource(text: string): Resource {
  const [name = "", version = "1"] = text.split("@");
  return { name, version, typeUrl, bytes: new Uint8Array() };
}

function setOf(slices: readonly ResourceSlice[]): ResourceSet {
  return { typeUrl, version: "", byName: new SlicedResources(slices) };
}

function plain({ byName }: ResourceSet): ResourceSet {
  return { typeUrl, version: "", byName: new Map(byName) };
}

test("a set of slices reads as a table of all its resources, with few look-ups and with many", () => {
  const slices = Array.from({ length: 30 }, (_, i) => slice(`a${i}`, `b${i}`));
  const { byName } = setOf([...slices, slice("a3@2")]);
  assert.equal(byName.get("b7")?.version, "1");
  assert.equal(byName.get("a3")?.version, "2", "the last of a name counts");
  assert.equal(byName.get("c"), undefined);
  for (let i = 0; i < 30; i++) for (const name of [`a${i}`, `b${i}`]) assert.equal(byName.get(name)?.name, name);
  assert.ok(byName.has("a3") && !byName.has("c"));
  assert.equal(byName.size, 60);
  assert.deepEqual([...byName.keys()].slice(0, 3), ["a0", "b0", "a1"]);
  const pairs: [string, string][] = [];
  byName.forEach(({ version }, name) => {
    pairs.push([name, version]);
  });
  assert.deepEqual(
    pairs,
    [...byName].map(([name, { version }]) => [name, version]),
  );
  assert.deepEqual(
    [...byName.values()],
    [...byName.entries()].map(([, one]) => one),
  );
});

test("a name that two resources have changes when the one that counts comes, goes or changes, also in a slice that stays", () => {
  const stays = slice("a@1", "b@1");
  const cases: readonly (readonly [ResourceSlice[], ResourceSlice[], string[], string[]])[] = [
    [[stays, slice("a@2")], [stays], ["a@1"], []],
    [[stays], [stays, slice("a@2")], ["a@2"], []],
    [[stays, slice("a@1")], [stays], [], []],
    [[slice("a@2"), stays], [slice("a@3"), stays], [], []],
    [[stays, slice("c")], [stays], [], ["c"]],
  ];
  for (const [before, after, changed, removed] of cases) {
    const diff = new Bodies().diff(setOf(before), setOf(after));
    assert.deepEqual(
      diff.changed.map(({ name, version }) => `${name}@${version}`),
      changed,
    );
    assert.deepEqual(diff.removed, removed);
  }
});

test("two sets that share slices differ by the entries that differ in their tables", () => {
  const name = fc.nat({ max: 30 }).map((number) => `n${number}@${number % 3}`);
  const some = fc.array(
    fc.array(name, { maxLength: 4 }).map((names) => slice(...names)),
    { maxLength: 6 },
  );
  const sorted = (texts: readonly string[]) => texts.toSorted();
  checkProperty(
    fc.tuple(some, some, some, some),
    ([first, old, now, last]) => {
      const [before, after] = [setOf([...first, ...old, ...last]), setOf([...first, ...now, ...last])];
      const got = new Bodies().diff(before, after);
      const want = diffVersions(plain(before).byName, plain(after));
      assert.deepEqual(sorted(got.removed), sorted(want.removed));
      assert.deepEqual(
        sorted(got.changed.map((one) => `${one.name}@${one.version}`)),
        sorted(want.changed.map((one) => `${one.name}@${one.version}`)),
      );
    },
    { runs: 300 },
  );
});

test("sets whose names are distinct differ by the same entries, found without a look-up", () => {
  const cut = (numbers: readonly number[], version: (number: number) => number) => {
    const sorted = [...new Set(numbers)].sort((a, b) => a - b);
    const slices = Map.groupBy(sorted, (number) => Math.floor(number / 5));
    return [...slices.values()].map((some) => some.map((number) => `n${number}@${version(number)}`));
  };
  const shared = new Map<string, ResourceSlice>();
  const distinct = (texts: readonly (readonly string[])[]): ResourceSet => {
    const slices = texts.map((some) => {
      const made = shared.get(some.join()) ?? slice(...some);
      shared.set(some.join(), made);
      return made;
    });
    return { typeUrl, version: "", byName: new SlicedResources(slices, { distinct: true }) };
  };
  const numbers = fc.array(fc.nat({ max: 40 }), { maxLength: 30 });
  checkProperty(
    fc.tuple(numbers, numbers, fc.nat({ max: 40 })),
    ([old, now, changing]) => {
      const before = distinct(cut(old, () => 1));
      const after = distinct(cut([...old.slice(3), ...now.slice(0, 3)], (number) => (number === changing ? 2 : 1)));
      const got = new Bodies().diff(before, after);
      const want = diffVersions(plain(before).byName, plain(after));
      assert.deepEqual([got.changed, got.removed.toSorted()], [want.changed, want.removed.toSorted()]);
    },
    { runs: 300 },
  );
});

test("of resources that cannot be made a client keeps those that it has, and nothing else of before", () => {
  const failed = new Map([
    ["b", new Error("no")],
    ["new", new Error("no")],
  ]);
  const before = { ...setOf([slice("a", "b@7", "gone")]), version: "1" };
  const now = { ...setOf([slice("a@2", "c")]), version: "2", failed };
  const found = withFormer(now, before);
  assert.deepEqual(
    [...found.byName.values()].map(({ name, version }) => `${name}@${version}`),
    ["a@2", "c@1", "b@7"],
  );
  assert.ok(found.version !== now.version && found.failed === failed);
  assert.equal(withFormer(now, before).version, found.version);
  assert.equal(withFormer(now, undefined), now);
  assert.equal(withFormer(before, now), before);
});
