import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PendingChanges } from "./pending-changes.ts";

describe("pending changes", () => {
  const changes = (clock = { now: 5 }) => ({
    clock,
    pending: new PendingChanges<string>({ nameOf: (change) => change.charAt(0), nowMs: () => clock.now }),
  });

  it("keeps the last of each name, in the order of the last change, with the time of the first", () => {
    const { clock, pending } = changes();
    pending.add("a1");
    clock.now = 9;
    pending.add("b1");
    pending.add("a2");
    assert.deepEqual(pending.take(), { changes: ["b1", "a2"], eventTimeMs: 5 });
    assert.equal(pending.isEmpty, true);
    assert.deepEqual(pending.take(), { changes: [], eventTimeMs: 9 });
  });

  it("leaves out what is over", () => {
    const { pending } = changes();
    for (const change of ["a1", "b1"]) pending.add(change);
    pending.drop((change) => change.startsWith("a"));
    assert.deepEqual(pending.take().changes, ["b1"]);
  });
});
