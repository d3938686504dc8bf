import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { changeList } from "./lists.ts";
import { Operation } from "./patch.ts";

const cases: readonly (readonly [Operation, wanted: string | undefined, expected: string])[] = [
  [Operation.ADD, "b", "abcbx"],
  [Operation.INSERT_FIRST, "b", "xabcb"],
  [Operation.INSERT_AFTER, "b", "abxcb"],
  [Operation.INSERT_AFTER, undefined, "abcbx"],
  [Operation.INSERT_AFTER, "z", "abcb"],
  [Operation.INSERT_BEFORE, "b", "axbcb"],
  [Operation.INSERT_BEFORE, undefined, "xabcb"],
  [Operation.INSERT_BEFORE, "z", "abcb"],
  [Operation.REPLACE, "b", "axcb"],
  [Operation.REPLACE, undefined, "abcb"],
  [Operation.REMOVE, "b", "ac"],
  [Operation.REMOVE, undefined, "abcb"],
  [Operation.MERGE, "b", "abcb"],
];

describe("operations on lists", () => {
  for (const [operation, wanted, expected] of cases)
    it(`${Operation[operation]} ${wanted ?? "without a match"} makes abcb ${expected}`, () => {
      const isMeant = wanted === undefined ? undefined : (item: string) => item === wanted;
      assert.equal(changeList([..."abcb"], { operation, value: () => "x", isMeant }).join(""), expected);
    });
});
