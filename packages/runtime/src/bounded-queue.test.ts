import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedQueue } from "./bounded-queue.ts";

describe("bounded queue", () => {
  it("hands out what was put, in order, and ends when it is closed", async () => {
    const queue = new BoundedQueue<number>(4);
    const seen: number[] = [];
    const reading = (async () => {
      for await (const item of queue) seen.push(item);
    })();
    for (const item of [1, 2, 3]) await queue.put(item);
    queue.close();
    await reading;
    assert.deepEqual(seen, [1, 2, 3]);
  });

  it("full, it refuses an offer and holds a put until there is room", async () => {
    const queue = new BoundedQueue<number>(1);
    assert.equal(queue.offer(1), true);
    assert.equal(queue.offer(2), false);
    let isPut = false;
    const putting = queue.put(2).then(() => {
      isPut = true;
    });
    await new Promise(setImmediate);
    assert.equal(isPut, false);
    const reader = queue[Symbol.asyncIterator]();
    assert.equal((await reader.next()).value, 1);
    await putting;
    assert.equal((await reader.next()).value, 2);
  });

  it("gives up a put when asked to stop, or without a reader", async () => {
    const queue = new BoundedQueue<number>(1);
    queue.offer(1);
    const stop = new AbortController();
    const putting = queue.put(2, stop.signal);
    stop.abort(new Error("enough"));
    await assert.rejects(putting, /enough/);
    const waiting = queue.put(3);
    queue.close();
    await assert.rejects(waiting, { code: "QUEUE_CLOSED" });
  });

  it("gives its reader the failure of the writer, after what came before", async () => {
    const queue = new BoundedQueue<number>(2);
    queue.offer(1);
    queue.close(new Error("source gone"));
    const reader = queue[Symbol.asyncIterator]();
    assert.equal((await reader.next()).value, 1);
    await assert.rejects(reader.next(), /source gone/);
  });

  it("is closed by a reader that leaves", async () => {
    const queue = new BoundedQueue<number>(2);
    queue.offer(1);
    for await (const _ of queue) break;
    assert.equal(queue.offer(2), false);
  });
});
