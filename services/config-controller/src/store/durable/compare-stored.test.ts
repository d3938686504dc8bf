/** Losses of what is stored: when they are looked for, how they are named, and how long they stay. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StoreError } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { type CompareStoredOptions, compareStored } from "./compare-stored.ts";

type Comparison = readonly string[] | Error;

/** Compares with these results, one a look; the last one goes on. */
async function comparing(
  results: readonly Comparison[],
  work: (world: World) => Promise<unknown>,
  { connected = true, everyMs = 5 } = {},
) {
  const world = new World(results, connected, everyMs);
  const stop = new AbortController();
  const running = compareStored(world.options, stop.signal);
  try {
    await work(world);
  } finally {
    stop.abort();
    await running;
  }
  return world;
}

class World {
  looks = 0;
  nowMs = 0;
  isEnded = false;
  conditions: (string | undefined)[] = [];
  warnings = 0;
  readonly state = { connected: true };
  listener: ((state: { connected: boolean }) => unknown) | undefined;
  readonly options: CompareStoredOptions;

  constructor(results: readonly Comparison[], connected = true, everyMs = 5) {
    this.state.connected = connected;
    this.options = {
      stored: {
        compare: async () => {
          const result = results[Math.min(this.looks++, results.length - 1)] ?? [];
          if (result instanceof Error) throw result;
          return result;
        },
      },
      condition: "stored",
      lossText: (names) => `lost: ${names}`,
      bus: {
        state: this.state,
        onState: (listener: (state: { connected: boolean }) => unknown) => {
          this.listener = listener;
          return () => {
            this.isEnded = true;
          };
        },
      } as unknown as CompareStoredOptions["bus"],
      everyMs,
      health: { setCondition: (_, detail) => void this.conditions.push(detail) },
      log: { ...noopLogger, warn: () => this.warnings++ },
      nowMs: () => this.nowMs,
    };
  }

  looked(times: number): Promise<unknown> {
    return until(() => this.looks >= times, { withinMs: 10_000, what: `${times} comparisons` });
  }
}

describe("stored objects", () => {
  it("is compared from time to time, and its loss named", async () => {
    const world = await comparing([[], ["a", "b"]], (one) => one.looked(2));
    assert.equal(world.conditions[0], "lost: a, b (noticed at 1970-01-01T00:00:00.000Z)");
    assert.equal(world.isEnded, true);
  });
  it("is named up to five, the rest by number", async () => {
    const five = await comparing([["a", "b", "c", "d", "e"]], (one) => one.looked(1));
    assert.match(five.conditions[0] ?? "", /^lost: a, b, c, d, e \(/);
    const seven = await comparing([["a", "b", "c", "d", "e", "f", "g"]], (one) => one.looked(1));
    assert.match(seven.conditions[0] ?? "", /^lost: a, b, c, d, e and 2 more \(/);
  });
  it("is named beside those that were lost shortly before", async () => {
    const world = await comparing([["a", "b"], ["c", "a"], []], (one) => one.looked(3));
    assert.match(world.conditions[1] ?? "", /^lost: c, a, b \(/);
  });
  it("stands for an hour after its loss", async () => {
    const world = await comparing([["a"], []], async (one) => {
      await one.looked(2);
      one.nowMs = 3_600_000;
      await one.looked(one.looks + 2);
      assert.equal(one.conditions.length, 1);
      one.nowMs = 3_600_001;
      await until(() => one.conditions.length === 2, { withinMs: 10_000, what: "the end of the condition" });
    });
    assert.equal(world.conditions[1], undefined);
  });
  it("is compared again after it could not be, and not while the bus is away", async () => {
    const failed = await comparing([new StoreError("STORE_AWAY", undefined, "no answer"), ["a"]], (one) =>
      one.looked(2),
    );
    assert.deepEqual([failed.warnings, failed.conditions.length >= 1], [1, true]);
    await comparing(
      [["a"]],
      async (one) => {
        one.listener?.({ connected: false });
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal(one.looks, 0);
        one.state.connected = true;
        one.listener?.({ connected: true });
        await one.looked(1);
      },
      { connected: false },
    );
  });
  it("is compared again soon after it could not be, however long the interval", async () => {
    const away = new StoreError("STORE_AWAY", undefined, "no answer");
    const work = async (one: World) => {
      one.listener?.({ connected: true });
      await one.looked(2);
    };
    const { conditions } = await comparing([away, ["a"]], work, { everyMs: 3_600_000 });
    assert.equal(conditions.length, 1);
  });
  it("with a mistake in the code ends the comparison", async () => {
    const world = new World([new TypeError("x is no function")], true);
    await assert.rejects(compareStored(world.options, new AbortController().signal), TypeError);
  });
});
