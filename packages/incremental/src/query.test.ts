/** Results that count as unchanged: nothing that depends on them runs again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shallowEqual } from "./query.ts";

const shared = { deep: 1 };
class Point {
  x = 1;
}

const cases: readonly (readonly [name: string, a: unknown, b: unknown, isEqual: boolean])[] = [
  ["the same reference", shared, shared, true],
  ["NaN", Number.NaN, Number.NaN, true],
  ["two numbers", 1, 2, false],
  ["null and nothing", null, undefined, false],
  ["null and an object", null, {}, false],
  ["an object and null", {}, null, false],
  ["an object and a text", {}, "{}", false],
  ["lists of the same references", [shared, 1], [shared, 1], true],
  ["lists of equal members", [{ deep: 1 }], [{ deep: 1 }], false],
  ["a list and its beginning", [1, 2], [1], false],
  ["a list and a longer one", [1], [1, 2], false],
  ["lists in another order", [1, 2], [2, 1], false],
  ["a list and an object", [1], { 0: 1 }, false],
  ["an object and a list", { 0: 1 }, [1], false],
  ["maps of the same references", new Map([["a", shared]]), new Map([["a", shared]]), true],
  ["maps with another value", new Map([["a", 1]]), new Map([["a", 2]]), false],
  ["maps with another key", new Map([["a", undefined]]), new Map([["b", undefined]]), false],
  ["a map and a longer one", new Map([["a", 1]]), new Map([...[["a", 1] as const], ["b", 1]]), false],
  ["a map and a set", new Map(), new Set(), false],
  ["sets of the same members", new Set([1, 2]), new Set([2, 1]), true],
  ["sets with another member", new Set([1]), new Set([2]), false],
  ["a set and a longer one", new Set([1]), new Set([1, 2]), false],
  ["a set and a map", new Set(), new Map(), false],
  ["objects of the same references", { a: shared }, { a: shared }, true],
  ["objects of equal members", { a: {} }, { a: {} }, false],
  ["an object and one with more", { a: 1 }, { a: 1, b: 2 }, false],
  ["objects with other names", { a: undefined }, { b: 1 }, false],
  ["objects of a class", new Point(), new Point(), false],
  ["an object and one of a class", { x: 1 }, new Point(), false],
  ["an object of a class and one of none", new Point(), { x: 1 }, false],
];

describe("shallow equality", () => {
  for (const [name, a, b, isEqual] of cases)
    it(`of ${name} is ${isEqual}`, () => assert.equal(shallowEqual(a, b), isEqual));
});
