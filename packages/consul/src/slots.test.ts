/** A bounded number of questions at a time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Slots } from "./slots.ts";

const running = new AbortController().signal;

/** Work that ends on demand, with a record of what has begun. */
function works(slots: Slots) {
  const begun: string[] = [];
  const begin = (name: string, stop = running) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const result = slots.run(() => {
      begun.push(name);
      return promise;
    }, stop);
    return { result, end: () => resolve(name), fail: () => reject(new Error(name)) };
  };
  return { begun, begin };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("slots", () => {
  it("let as many begin as there are, the others in their order", async () => {
    const slots = new Slots(2);
    const { begun, begin } = works(slots);
    const [a, b, c, d] = [begin("a"), begin("b"), begin("c"), begin("d")];
    await turn();
    assert.deepEqual([begun, slots.isCrowded], [["a", "b"], true]);
    b.end();
    assert.equal(await b.result, "b");
    await turn();
    assert.deepEqual(begun, ["a", "b", "c"]);
    for (const one of [a, c, d]) one.end();
    assert.deepEqual(await Promise.all([a.result, c.result, d.result]), ["a", "c", "d"]);
    assert.equal(slots.isCrowded, false);
    begin("e").end();
    begin("f").end();
    await turn();
    assert.deepEqual(begun.slice(4), ["e", "f"]);
  });

  it("are free again after a failure", async () => {
    const { begun, begin } = works(new Slots(1));
    const [a, b] = [begin("a"), begin("b")];
    await turn();
    a.fail();
    await assert.rejects(a.result, /a/);
    b.end();
    assert.equal(await b.result, "b");
    assert.deepEqual(begun, ["a", "b"]);
  });

  it("ask those for their place who only wait for news", async () => {
    const slots = new Slots(1);
    const { begin } = works(slots);
    const { wanted } = slots;
    const a = begin("a");
    await turn();
    assert.equal(wanted.aborted, false);
    const b = begin("b");
    await turn();
    assert.deepEqual([wanted.aborted, slots.wanted.aborted], [true, false]);
    for (const one of [a, b]) one.end();
    await b.result;
  });

  it("are not used for what was stopped while it waited", async () => {
    const { begun, begin } = works(new Slots(1));
    const stop = new AbortController();
    const [a, b, c] = [begin("a"), begin("b", stop.signal), begin("c")];
    await turn();
    stop.abort(new Error("stopped"));
    a.end();
    await assert.rejects(b.result, /stopped/);
    c.end();
    await c.result;
    assert.deepEqual(begun, ["a", "c"]);
  });
});
