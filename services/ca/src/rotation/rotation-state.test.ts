import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { abort, idle, type Phase, parseState, type RotationState, rotate, step } from "./rotation-state.ts";

const roots = { old: "aaaa", next: "bbbb", origin: "self-signed" } as const;
const settleMs = 100;
const begun = rotate(idle, { id: "r1", roots, without: [], nowMs: 1000 });
const inPhase = (phase: Phase): RotationState => ({ ...begun, phase });

/** Looks every 10 ms from 2000 on. */
function run(state: RotationState, heldUp: readonly boolean[]): RotationState {
  return heldUp.reduce((now, isHeldUp, at) => step(now, { isHeldUp, nowMs: 2000 + at * 10, settleMs }), state);
}
const clear = (looks: number): readonly boolean[] => Array.from({ length: looks }, () => false);

describe("the state of a rotation", () => {
  const cases: readonly (readonly [string, RotationState, readonly boolean[], Phase])[] = [
    ["idle stays idle", idle, clear(50), "idle"],
    ["who does not trust the new root yet is waited for", begun, Array(50).fill(true), "trusting"],
    ["nothing in the way for less than the time to settle is not enough", begun, clear(10), "trusting"],
    ["nothing in the way for that time", begun, clear(11), "issuing"],
    ["the time begins anew after somebody was in the way", begun, [...clear(9), true, ...clear(10)], "trusting"],
    ["and ends after it", begun, [...clear(9), true, ...clear(11)], "issuing"],
    ["old certificates are waited for", inPhase("issuing"), Array(50).fill(true), "issuing"],
    ["none is left", inPhase("issuing"), clear(11), "finishing"],
    ["what ends is ended at once", inPhase("finishing"), clear(2), "idle"],
    ["an end that is held up waits", inPhase("finishing"), [true, true], "finishing"],
    ["going back waits too", inPhase("reverting"), [true, ...clear(10)], "reverting"],
    ["and has gone back", inPhase("reverting"), clear(11), "idle"],
  ];
  for (const [name, state, looks, phase] of cases) it(name, () => assert.equal(run(state, looks).phase, phase));

  it("nothing changes: the same object", () => {
    assert.equal(step(begun, { isHeldUp: true, nowMs: 1, settleMs }), begun);
    const waiting = step(begun, { isHeldUp: false, nowMs: 1000, settleMs });
    assert.equal(step(waiting, { isHeldUp: false, nowMs: 1001, settleMs }), waiting);
  });

  it("reports how the last one ended", () => {
    assert.equal(run(inPhase("finishing"), clear(2)).last?.outcome, "rotated");
    assert.equal(run(inPhase("reverting"), clear(11)).last?.outcome, "aborted");
    assert.deepEqual(abort(begun, 5).last, { id: "r1", outcome: "aborted", atMs: 5, abandoned: "bbbb" });
  });

  it("can be aborted until the old root is given up", () => {
    assert.equal(abort(begun, 5).phase, "idle");
    assert.equal(abort(inPhase("issuing"), 5).phase, "reverting");
    assert.equal(abort(inPhase("reverting"), 5).phase, "reverting");
    assert.throws(() => abort(inPhase("finishing"), 5), /given up already/);
    assert.throws(() => abort(idle, 5), /no rotation/);
  });

  it("asked again while it runs, only goes on without more", () => {
    const again = rotate(begun, { id: "r2", roots, without: ["x"], nowMs: 9 });
    assert.deepEqual(again, { ...begun, without: ["x"] });
    assert.throws(() => rotate(idle, { id: "r", roots: { ...roots, next: "aaaa" }, without: [], nowMs: 1 }), /in use/);
  });

  it("is read back as it was written, and nothing else is", () => {
    assert.deepEqual(parseState(JSON.stringify(begun)), begun);
    for (const text of ["", "{}", "[]", "null", '{"phase":"issuing","without":[]}', '{"phase":"no","without":[]}'])
      assert.throws(() => parseState(text), { code: "CA_ROTATION" });
  });
});
