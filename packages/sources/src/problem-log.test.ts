/** Problems since the last look: those that appeared and those that are over, wherever in its file an object stands now. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ProblemLog } from "./source.ts";

const problem = (object: string, line = 1, reason = "no hosts") => ({ file: "a.yaml", line, object, reason });

describe("a log of problems", () => {
  it("names each once when it appears and once when it is over", () => {
    const log = new ProblemLog();
    const [a, b] = [problem("Gateway/a"), problem("Gateway/b")];
    assert.deepEqual(log.update([a, b]), { appeared: [a, b], over: [] });
    assert.deepEqual(log.update([a, b]), { appeared: [], over: [] });
    assert.deepEqual(log.update([b]), { appeared: [], over: [a] });
    assert.deepEqual(log.update([a, b]), { appeared: [a], over: [] });
    assert.deepEqual(log.update([]), { appeared: [], over: [a, b] });
  });
  it("takes one on another line for the same, and one of another reason for another", () => {
    const log = new ProblemLog();
    log.update([problem("Gateway/a", 1)]);
    assert.deepEqual(log.update([problem("Gateway/a", 7)]), { appeared: [], over: [] });
    const { appeared, over } = log.update([problem("Gateway/a", 7, "no ports")]);
    assert.deepEqual([appeared.length, over.length], [1, 1]);
  });
});
