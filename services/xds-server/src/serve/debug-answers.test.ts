/** Debug answers of one stream: one at a time behind its messages, and bounded. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AnswerQueue, maxOpenQuestions } from "./debug-answers.ts";

/** A writer that is busy until `leave`, as the socket of a slow client is. */
function aQueue() {
  const written: string[] = [];
  let leave: (() => void) | undefined;
  const writer = {
    get isBusy() {
      return leave !== undefined;
    },
    write: (frame: Buffer, onLeft?: () => void) => {
      written.push(String(frame));
      leave = onLeft ?? (() => undefined);
    },
  };
  const left = () => {
    const done = leave;
    leave = undefined;
    done?.();
  };
  return { queue: new AnswerQueue(writer as never), written, left };
}

describe("debug answers of a stream", () => {
  it("are written one after the other, each when the one before has left", () => {
    const { queue, written, left } = aQueue();
    for (const text of ["a", "b", "c"]) {
      queue.ask();
      queue.answer(Buffer.from(text));
    }
    assert.deepEqual(written, ["a"]);
    left();
    assert.equal(queue.writeNext(), true);
    assert.deepEqual(written, ["a", "b"]);
    left();
    assert.deepEqual([queue.writeNext(), written.length], [true, 3]);
    left();
    assert.equal(queue.writeNext(), false);
  });

  it("are refused beyond the bound until one has left or was dropped", () => {
    const { queue, left } = aQueue();
    for (let i = 0; i < maxOpenQuestions; i++) assert.equal(queue.ask(), true);
    assert.equal(queue.ask(), false);
    queue.answer(Buffer.from("a"));
    assert.equal(queue.ask(), false, "it has not left yet");
    left();
    assert.equal(queue.ask(), true);
    queue.drop();
    assert.equal(queue.ask(), true);
  });

  it("that wait are gone with the stream", () => {
    const { queue, written, left } = aQueue();
    queue.answer(Buffer.from("a"));
    queue.answer(Buffer.from("b"));
    queue.clear();
    left();
    assert.deepEqual([queue.writeNext(), written], [false, ["a"]]);
  });
});
