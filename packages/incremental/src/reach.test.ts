/** Observed results above a cell, in graphs that are linked by hand. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AnyCell, addDependent, type InputCell, type QueryCell } from "./query.ts";
import { WatchedAbove } from "./reach.ts";

type Cell = AnyCell<unknown>;
const input = (): InputCell => ({ kind: "input", key: "", value: 1, changedAt: 0, dependents: undefined });
/** A result that is computed from others. */
function result(isWatched: boolean, ...below: readonly Cell[]): QueryCell<unknown> {
  const observers = isWatched ? new Set([() => {}]) : undefined;
  const cell = { kind: "query", dependents: undefined, observers } as QueryCell<unknown>;
  for (const one of below) addDependent(one, cell);
  return cell;
}

describe("results above a cell", () => {
  it("are those that are observed, however far above, each once", () => {
    const root = input();
    const [left, right] = [result(false, root), result(true, root)];
    const top = result(true, left, right);
    const other = result(false, right);
    const above = new WatchedAbove<unknown>();
    assert.deepEqual(above.of(root), new Set([right, top]));
    assert.deepEqual(above.of(left), new Set([top]));
    assert.deepEqual(above.of(top), new Set([top]));
    assert.deepEqual(above.of(other), new Set());
  });

  it("share their set where one holds the other", () => {
    const [root, second] = [input(), input()];
    const [left, right] = [result(false, root), result(false, root, second)];
    const above = new WatchedAbove<unknown>();
    result(true, left, right);
    const last = result(true, right);
    assert.equal(above.of(root), above.of(right));
    assert.equal(above.of(second), above.of(right));
    assert.deepEqual(above.of(last), new Set([last]));
  });

  it("stay as they were found until they are forgotten", () => {
    const root = input();
    const first = result(true, root);
    const above = new WatchedAbove<unknown>();
    const found = above.of(root);
    const second = result(true, root);
    assert.equal(above.of(root), found);
    above.forget();
    assert.deepEqual(above.of(root), new Set([first, second]));
  });

  for (const [count, looks] of [
    [9_998, 1],
    [9_999, 2],
    [25_000, 3],
  ] as const)
    it(`of ${count} cells are found with the call number ${looks}`, () => {
      const root = input();
      const results = Array.from({ length: count }, () => result(false, root));
      const top = result(true, ...results.slice(-1));
      const above = new WatchedAbove<unknown>();
      for (let call = 1; call < looks; call++) assert.equal(above.of(root), undefined);
      assert.deepEqual(above.of(root), new Set([top]));
    });
});
