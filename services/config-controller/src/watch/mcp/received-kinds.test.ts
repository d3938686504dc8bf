import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReceivedKinds } from "./received-kinds.ts";

const state = (kinds: ReceivedKinds) => ({
  ...{ isComplete: kinds.isComplete, isMore: kinds.isMore, silent: [...kinds.silent] },
  incomplete: ["a", "b", "x"].filter((kind) => kinds.isIncomplete(kind)),
});

describe("kinds that a server has sent", () => {
  it("are complete when each was received, once or again, and no others count", () => {
    const kinds = new ReceivedKinds(["a", "b"]);
    assert.deepEqual(state(kinds), { isComplete: false, isMore: false, silent: [], incomplete: [] });
    kinds.answered("x");
    assert.equal(kinds.isMore, false);
    kinds.answered("a");
    assert.deepEqual(state(kinds), { isComplete: false, isMore: true, silent: [], incomplete: [] });
    kinds.noteGroup(false);
    kinds.answered("a");
    assert.deepEqual(state(kinds), { isComplete: false, isMore: false, silent: [], incomplete: [] });
    kinds.answered("b");
    assert.deepEqual(state(kinds), { isComplete: true, isMore: true, silent: [], incomplete: [] });
  });

  it("are missing of a complete group until the next one", () => {
    const kinds = new ReceivedKinds(["a", "b"]);
    kinds.answered("a");
    kinds.noteGroup(true);
    assert.deepEqual(state(kinds), { isComplete: false, isMore: false, silent: [], incomplete: ["b"] });
    kinds.answered("b");
    assert.deepEqual(state(kinds), { isComplete: true, isMore: true, silent: [], incomplete: ["b"] });
    kinds.noteGroup(true);
    assert.deepEqual(state(kinds), { isComplete: true, isMore: false, silent: [], incomplete: [] });
  });

  it("count as received after a silence, until they are answered", () => {
    const kinds = new ReceivedKinds(["a", "b"]);
    kinds.answered("a");
    assert.deepEqual(kinds.passSilence(), ["b"]);
    assert.deepEqual(state(kinds), { isComplete: true, isMore: true, silent: ["b"], incomplete: [] });
    assert.deepEqual(kinds.passSilence(), []);
    kinds.noteGroup(true);
    kinds.answered("b");
    assert.deepEqual(state(kinds), { isComplete: true, isMore: false, silent: [], incomplete: [] });
  });

  it("are complete where none was asked for", () => assert.equal(new ReceivedKinds([]).isComplete, true));
});
