import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Deliveries } from "./deliveries.ts";

/** Two types, in this order of eventTimes: the source's event lies 100 ms before the first application. */
function setUp() {
  const log: string[] = [];
  let now = 1_100;
  const deliveries = new Deliveries({
    nowMs: () => now,
    metrics: {
      delivered: (kind, seconds) => log.push(`${kind} ${Math.round(seconds * 1000)} ms`),
      converged: (seconds) => log.push(`proxy ${Math.round(seconds * 1000)} ms`),
      lookedAt: (outcome) => log.push(outcome),
    },
  });
  const events = new Map([["VirtualService", 1_000]]);
  return {
    log,
    deliveries,
    advance: (ms: number) => {
      now += ms;
    },
    change: (concern: () => void) => {
      deliveries.begin(events);
      concern();
      deliveries.end();
    },
  };
}

describe("deliveries", () => {
  it("a change is delivered when the last proxy has answered, and each proxy has its own time", () => {
    const { log, deliveries, advance, change } = setUp();
    const [fast, slow] = [deliveries.tracker(), deliveries.tracker()];
    change(() => {
      fast.expect("routes");
      slow.expect("routes");
    });
    fast.sent("routes", 1);
    slow.sent("routes", 1);
    advance(10);
    fast.answered("routes", "accepted");
    advance(40);
    assert.equal(deliveries.open, 1);
    slow.answered("routes", "accepted");
    assert.deepEqual(log, ["sent", "sent", "proxy 10 ms", "VirtualService 150 ms", "proxy 50 ms"]);
    assert.equal(deliveries.open, 0);
  });

  it("an answer to what was sent before the change is none to the change", () => {
    const { log, deliveries, change } = setUp();
    const stream = deliveries.tracker();
    change(() => stream.expect("routes"));
    stream.answered("routes", "accepted");
    assert.deepEqual(log, []);
    stream.sent("routes", 1);
    stream.answered("routes", "accepted");
    assert.deepEqual(log, ["sent", "VirtualService 100 ms", "proxy 0 ms"]);
  });

  it("unchanged deliveries are distinguished, and counted too", () => {
    const { log, deliveries, change } = setUp();
    const stream = deliveries.tracker();
    change(() => {
      stream.expect("routes");
      stream.expect("clusters");
    });
    stream.settled((type) => type === "clusters");
    assert.deepEqual(log, ["unchanged"]);
    stream.settled(() => false);
    assert.deepEqual(log, ["unchanged", "unchanged", "VirtualService 100 ms", "proxy 0 ms"]);
  });

  it("a proxy that goes is waited for no longer, a type that it gives up neither", () => {
    const { log, deliveries, change } = setUp();
    const stream = deliveries.tracker();
    change(() => {
      stream.expect("routes");
      stream.expect("clusters");
    });
    stream.sent("routes", 1);
    stream.forget("clusters");
    assert.equal(deliveries.open, 1);
    stream.forget();
    assert.deepEqual(log, ["sent", "VirtualService 100 ms"]);
  });

  it("a change that merges into one on its way is not delivered before that one", () => {
    const { log, deliveries, change } = setUp();
    const stream = deliveries.tracker();
    change(() => stream.expect("routes"));
    change(() => undefined); // the type is stale already: the stream is not notified again
    assert.equal(deliveries.open, 2);
    stream.sent("routes", 1);
    stream.answered("routes", "accepted");
    assert.deepEqual(log, ["sent", "VirtualService 100 ms", "VirtualService 100 ms", "proxy 0 ms"]);
  });

  it("changes that concern no proxy are not measured", () => {
    const { log, deliveries, change } = setUp();
    change(() => undefined);
    assert.deepEqual([log, deliveries.open], [[], 0]);
  });
});
