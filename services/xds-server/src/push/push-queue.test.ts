import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Pushable, PushQueue, type PushQueueOptions } from "./push-queue.ts";
import { FakeClock } from "./testing/fake-clock.ts";

const limits = { maxConcurrent: 4, maxBytesInFlight: 1_000, stallMs: 100, sliceMs: 10 };

interface Set {
  readonly clock: FakeClock;
  readonly queue: PushQueue;
  /** The pushes, in order, with their times. */
  readonly log: string[];
  stream(name: string, options?: StreamOptions): Pushable;
}

interface StreamOptions {
  readonly bytes?: number;
  /** How long the network takes. */
  readonly flushMs?: number | "never";
  /** How long the main thread works on it. */
  readonly workMs?: number;
  readonly messages?: number;
}

function setUp(options: Partial<PushQueueOptions> = {}): Set {
  const clock = new FakeClock();
  const queue = new PushQueue({ ...limits, clock, ...options });
  const log: string[] = [];
  return {
    clock,
    queue,
    log,
    stream: (name, { bytes = 1, flushMs = 0, workMs = 0, messages = 1 } = {}) => {
      let left = messages;
      const stream: Pushable = {
        push: (flushed) => {
          clock.spend(workMs);
          if (left === 0) return undefined;
          left--;
          log.push(`${name} ${clock.now()}`);
          const leave = (): void => {
            flushed();
            if (left > 0) queue.enqueue(stream, "normal");
          };
          if (flushMs !== "never") clock.after(flushMs, leave);
          return bytes;
        },
      };
      return stream;
    },
  };
}

describe("push queue", () => {
  it("serves in order of arrival, each stream once however often it asks, urgent ones first", async () => {
    const { clock, queue, log, stream } = setUp();
    const [a, b, c] = [stream("a"), stream("b"), stream("c")];
    queue.enqueue(a, "normal");
    queue.enqueue(b, "normal");
    queue.enqueue(a, "normal");
    queue.enqueue(c, "normal");
    queue.enqueue(c, "urgent");
    queue.enqueue(c, "normal");
    await clock.advance(0);
    assert.deepEqual(log, ["c 0", "a 0", "b 0"]);
    assert.deepEqual(queue.depth, { waiting: 0, inFlight: 0, stalled: 0 });
  });

  it("a stream with much to say waits for the others after each message", async () => {
    const { clock, queue, log, stream } = setUp({ maxConcurrent: 1 });
    queue.enqueue(stream("big", { messages: 3 }), "normal");
    queue.enqueue(stream("b"), "normal");
    queue.enqueue(stream("c"), "normal");
    await clock.advance(10);
    assert.deepEqual(
      log.map((line) => line.split(" ")[0]),
      ["big", "b", "c", "big", "big"],
    );
  });

  it("lets the event loop have a turn after ten milliseconds of work", async () => {
    const { clock, queue, log, stream } = setUp({ maxConcurrent: 100 });
    const turns: number[] = [];
    for (let i = 0; i < 6; i++) queue.enqueue(stream(`s${i}`, { workMs: 4 }), "normal");
    clock.soon(() => turns.push(log.length));
    await clock.advance(100);
    assert.equal(log.length, 6);
    assert.deepEqual(turns, [3], "something else ran after three streams, not after all six");
  });

  it("keeps no more messages and bytes on their way than allowed", async () => {
    const byCount = setUp();
    for (let i = 0; i < 6; i++) byCount.queue.enqueue(byCount.stream(`s${i}`, { flushMs: 10 }), "normal");
    await byCount.clock.advance(5);
    assert.equal(byCount.log.length, limits.maxConcurrent);
    await byCount.clock.advance(10);
    assert.equal(byCount.log.length, 6);

    const byBytes = setUp();
    for (let i = 0; i < 4; i++) byBytes.queue.enqueue(byBytes.stream(`s${i}`, { bytes: 600, flushMs: 10 }), "normal");
    await byBytes.clock.advance(5);
    assert.equal(byBytes.log.length, 2);
  });

  it("clients that do not read give their places back", async () => {
    const { clock, queue, log, stream } = setUp({ maxConcurrent: 2 });
    for (const name of ["x", "y"]) queue.enqueue(stream(name, { flushMs: "never" }), "normal");
    queue.enqueue(stream("a"), "normal");
    await clock.advance(limits.stallMs - 1);
    assert.deepEqual(log, ["x 0", "y 0"]);
    await clock.advance(1);
    assert.deepEqual(log, ["x 0", "y 0", `a ${limits.stallMs}`]);
    assert.deepEqual(queue.depth, { waiting: 0, inFlight: 0, stalled: 2 });
  });

  it("a stream that is gone is not served", async () => {
    const { clock, queue, log, stream } = setUp();
    const a = stream("a");
    queue.enqueue(a, "urgent");
    queue.remove(a);
    await clock.advance(1);
    assert.deepEqual(log, []);
  });
});
