import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { RequestQueue } from "./request-queue.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("requests to a server", () => {
  it("start when the one before has ended, round robin over addresses", async () => {
    const queue = new RequestQueue();
    const started: string[] = [];
    const start = async (address: string) => {
      const end = await queue.enter(address);
      started.push(address);
      await turn();
      end?.();
      end?.();
    };
    const all = Promise.all(["a", "a", "a", "a", "b", "c", "b"].map(start));
    await Promise.resolve();
    assert.deepEqual(started, ["a"], "the first one does not wait");
    await all;
    assert.deepEqual(started, ["a", "a", "b", "c", "a", "b", "a"]);
    (await queue.enter("d"))?.();
  });

  it("start also while one waits for something itself", async () => {
    const queue = new RequestQueue();
    await queue.enter("a");
    let hasStarted = false;
    void queue.enter("a").then(() => {
      hasStarted = true;
    });
    await until(() => hasStarted, { withinMs: 30_000, what: "the next one" });
  });

  it("leave the event loop free for as long as each took", async () => {
    const queue = new RequestQueue();
    const end = await queue.enter("a");
    const startedAt = performance.now();
    while (performance.now() - startedAt < 40);
    end?.();
    const endedAt = performance.now();
    (await queue.enter("b"))?.();
    const freeMs = performance.now() - endedAt;
    assert.ok(freeMs >= 35, `${freeMs} ms`);
  });

  it("of one address wait up to 256, the next is refused, others are not", async () => {
    const queue = new RequestQueue();
    const waiting = Array.from({ length: 257 }, async () => (await queue.enter("a"))?.());
    assert.equal(await queue.enter("a"), undefined);
    const end = await queue.enter("b");
    assert.ok(end !== undefined);
    end();
    await Promise.all(waiting);
    assert.ok((await queue.enter("a")) !== undefined);
  });

  it("of all addresses wait up to 1,024", async () => {
    const queue = new RequestQueue();
    const waiting = Array.from({ length: 1_025 }, async (_, at) => (await queue.enter(`${at % 10}`))?.());
    assert.equal(await queue.enter("new"), undefined);
    await Promise.all(waiting);
    assert.ok((await queue.enter("new")) !== undefined);
  });
});
