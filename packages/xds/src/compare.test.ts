import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { compareResources, parseRules } from "./compare.ts";

describe("a comparison of two resources", () => {
  const cases: readonly {
    readonly name: string;
    readonly want: JsonObject;
    readonly got: JsonObject;
    readonly rules?: string;
    readonly paths: readonly string[];
  }[] = [
    { name: "ignores the order of fields", want: { a: 1, b: 2 }, got: { b: 2, a: 1 }, paths: [] },
    { name: "names the path of a field", want: { a: [{ b: 1 }] }, got: { a: [{ b: 2 }] }, paths: ["a[0].b"] },
    { name: "names fields that only one has", want: { a: 1 }, got: { b: 1 }, paths: ["a", "b"] },
    { name: "quotes keys with dots", want: { a: { "x.y": 1 } }, got: { a: {} }, paths: ['a["x.y"]'] },
    { name: "minds the order of lists", want: { a: [1, 2] }, got: { a: [2, 1] }, paths: ["a[0]", "a[1]"] },
    { name: "leaves out ignored fields", want: { a: { b: 1 } }, got: { a: { b: 2 } }, rules: "**.b", paths: [] },
    {
      name: "leaves out the order of unordered lists",
      want: { a: [1, 2] },
      got: { a: [2, 1] },
      rules: "unordered a",
      paths: [],
    },
    { name: "applies a rule of another type to none", want: { a: 1 }, got: { a: 2 }, rules: "lds/a", paths: ["a"] },
  ];
  for (const { name, want, got, rules = "", paths } of cases) {
    it(name, () => {
      const found = compareResources("cds", want, got, parseRules(rules));
      assert.deepEqual(
        found.map(({ path }) => path),
        paths,
      );
    });
  }
});
