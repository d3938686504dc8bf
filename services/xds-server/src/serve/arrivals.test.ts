/** Arrival of generations: counted with the batch that they were applied in, timed from their own events. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { Arrivals } from "./arrivals.ts";
import { Deliveries } from "./deliveries.ts";

const config = { type: "config" } as Change;
const endpoints = { type: "endpoints" } as Change;
const group = (position: number, eventTimeMs: number, change = config) => ({
  ...{ position, cause: { eventTimeMs }, changes: [change] },
});

function setUp() {
  let nowMs = 1_100;
  const nothing = () => undefined;
  const deliveries = new Deliveries({
    nowMs: () => nowMs,
    metrics: { delivered: nothing, converged: nothing, lookedAt: nothing },
  });
  const arrivals = new Arrivals();
  return {
    ...{ deliveries, arrivals },
    at: (ms: number) => {
      nowMs = ms;
    },
    apply: (groups: readonly ReturnType<typeof group>[], concern: () => void) => {
      arrivals.note(groups, deliveries.begin(new Map()));
      concern();
      deliveries.end();
    },
  };
}

describe("arrivals of generations", () => {
  it("count messages, bytes, answers and rejections of all proxies, and the time of the last one that accepts", () => {
    const { deliveries, arrivals, at, apply } = setUp();
    const [one, two, three] = [deliveries.tracker(), deliveries.tracker(), deliveries.tracker()];
    apply([group(7, 1_000)], () => {
      for (const stream of [one, two, three]) stream.expect("routes");
    });
    assert.deepEqual(arrivals.of(7), {
      ...{ generation: 7, together: 1, messages: 0, bytes: 0, rejections: 0, waiting: 3 },
    });
    one.sent("routes", 100);
    two.sent("routes", 50);
    at(1_250);
    one.answered("routes", "accepted");
    at(1_400);
    two.answered("routes", "rejected");
    assert.deepEqual(arrivals.of(7), {
      ...{ generation: 7, together: 1, messages: 2, bytes: 150, rejections: 1, waiting: 1, lastAckMs: 250 },
    });
    three.forget();
    assert.equal(arrivals.of(7)?.waiting, 0);
  });

  it("are shared by generations of one batch, each with the time from its own event", () => {
    const { deliveries, arrivals, at, apply } = setUp();
    const stream = deliveries.tracker();
    apply([group(7, 1_000), group(8, 1_050)], () => stream.expect("routes"));
    stream.sent("routes", 10);
    at(1_200);
    stream.answered("routes", "accepted");
    const shown = [7, 8].map((generation) => arrivals.of(generation));
    assert.deepEqual(
      shown.map((one) => [one?.together, one?.messages, one?.lastAckMs]),
      [
        [2, 1, 200],
        [2, 1, 150],
      ],
    );
  });

  it("count a message for every batch that it carries, also one that holds a part back", () => {
    const { deliveries, arrivals, apply } = setUp();
    const stream = deliveries.tracker();
    apply([group(7, 1_000)], () => stream.expect("routes"));
    stream.sent("routes", 10, true);
    apply([group(8, 1_050)], () => stream.expect("routes"));
    stream.sent("routes", 20);
    assert.deepEqual([arrivals.of(7)?.bytes, arrivals.of(8)?.bytes], [30, 20]);
  });

  it("have no time where that of the event is not known, and none before the event", () => {
    const { deliveries, arrivals, at, apply } = setUp();
    const stream = deliveries.tracker();
    apply([group(7, 0), group(8, 5_000)], () => stream.expect("routes"));
    stream.sent("routes", 10);
    at(1_200);
    stream.answered("routes", "accepted");
    assert.deepEqual([arrivals.of(7)?.lastAckMs, arrivals.of(8)?.lastAckMs], [undefined, 0]);
  });

  it("are not kept of changes without configuration, and of the last thousand generations only", () => {
    const { arrivals, apply } = setUp();
    apply([group(1, 1_000), group(2, 1_000, endpoints)], () => undefined);
    assert.equal(arrivals.of(2), undefined);
    for (let i = 3; i < 1_003; i++) apply([group(i, 1_000)], () => undefined);
    assert.equal(arrivals.of(1), undefined);
    assert.equal(arrivals.of(3)?.messages, 0);
  });
});
