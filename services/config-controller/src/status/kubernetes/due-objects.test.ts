import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DueObjects } from "./due-objects.ts";

const names = (due: readonly { readonly object: string }[]) => due.map(({ object }) => object);

describe("objects whose status is due", () => {
  it("are given once, so many at a time, in the order in which they were noted", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    for (const object of ["a", "b", "c", "a"]) due.note(object, 0);
    assert.deepEqual(names(due.take(0, 2)), ["a", "b"]);
    assert.deepEqual(names(due.take(0, 2)), ["c"]);
    assert.equal(due.isPending, false);
  });

  it("are looked at again after a while, and keep since when they wait", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    due.note("a", 5);
    for (const one of due.take(10, 9)) due.again(one, 10);
    due.note("a", 100);
    assert.deepEqual(due.take(259, 9), []);
    assert.deepEqual(
      due.take(260, 9).map(({ object, sinceMs }) => [object, sinceMs]),
      [["a", 5]],
    );
  });

  it("without a report are examined when the silence is long, and then at the first report", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    due.note("a", 0);
    for (const one of due.take(0, 9)) due.silent(one, false);
    assert.deepEqual(due.take(9_999, 9), []);
    const [late] = due.take(10_000, 9);
    assert.equal(late?.object, "a");
    if (late !== undefined) due.silent(late, true);
    assert.equal(due.isPending, false);
    assert.deepEqual(due.take(1_000_000, 9), []);
    due.onHeard(1_000_000);
    assert.deepEqual(names(due.take(1_000_000, 9)), ["a"]);
  });

  it("that changed are given also without a report", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    due.silent({ object: "a", sinceMs: 0 }, true);
    due.note("a", 7);
    assert.deepEqual(due.take(7, 9), [{ object: "a", sinceMs: 7 }]);
  });

  it("are counted, wherever they wait, and are pending while not all of them wait for a report", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    const state = () => [due.size, due.isPending];
    assert.deepEqual(state(), [0, false]);
    due.silent({ object: "unheard", sinceMs: 0 }, true);
    assert.deepEqual(state(), [1, false]);
    due.silent({ object: "silent", sinceMs: 0 }, false);
    assert.deepEqual(state(), [2, true]);
    due.again({ object: "again", sinceMs: 0 }, 0);
    due.note("fresh", 0);
    assert.deepEqual(state(), [4, true]);
  });

  it("do not keep each other from their turn", () => {
    const due = new DueObjects({ againMs: 250, silenceMs: 10_000 });
    for (let n = 0; n < 10; n++) due.again({ object: `again-${n}`, sinceMs: 0 }, 0);
    for (let n = 0; n < 10; n++) due.note(`fresh-${n}`, 0);
    const taken = names(due.take(250, 6));
    assert.ok(taken.includes("again-0") && taken.includes("fresh-0"), taken.join(" "));
  });
});
