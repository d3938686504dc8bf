/** Differences of two JSON values, field by field; elements of lists by name where each has one of its own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Json } from "../mesh/mesh-config.ts";
import { jsonDifferences } from "./json-differences.ts";

const cases: readonly (readonly [name: string, before: Json, after: Json, paths: readonly string[]])[] = [
  ["equal values have none", { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
  ["a field", { a: { b: 1 } }, { a: { b: 2 } }, ["a.b"]],
  ["a field of one side", { a: 1 }, { b: 1 }, ["a", "b"]],
  ["another type", { a: [1] }, { a: { 0: 1 } }, ["a"]],
  ["the whole", 1, 2, [""]],
  ["an element by its place", [1, 2], [1, 3], ["[1]"]],
  [
    "elements of names by name, in any order",
    [
      { name: "a", v: 1 },
      { name: "b", v: 2 },
    ],
    [
      { name: "b", v: 2 },
      { name: "a", v: 3 },
    ],
    ["[a].v"],
  ],
  ["an element of a name that is gone", [{ name: "a" }, { name: "b" }], [{ name: "b" }], ["[a]"]],
  [
    "elements of one name by their place",
    [
      { name: "a", v: 1 },
      { name: "a", v: 2 },
    ],
    [
      { name: "a", v: 1 },
      { name: "a", v: 3 },
    ],
    ["[1].v"],
  ],
  [
    "elements of which one has no name by their place",
    [{ name: "a" }, { v: 1 }],
    [{ v: 1 }, { name: "a" }],
    ["[0].name", "[0].v", "[1].v", "[1].name"],
  ],
];

describe("differences", () => {
  for (const [name, before, after, paths] of cases)
    it(`of ${name}`, () => {
      const found = jsonDifferences(before, after);
      assert.deepEqual(
        found.map(({ path }) => path),
        paths,
      );
    });
  it("have both values, undefined for the side that has none", () => {
    assert.deepEqual(jsonDifferences({ a: 1 }, { a: 2, b: 3 }, "spec"), [
      { path: "spec.a", before: 1, after: 2 },
      { path: "spec.b", before: undefined, after: 3 },
    ]);
  });
});
