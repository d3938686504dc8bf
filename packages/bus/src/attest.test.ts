/** When a publisher compares the stream with what it published: from time to time, and whenever the servers are connected again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { attestEvery } from "./attest.ts";
import type { BusState } from "./bus.ts";
import { BusError } from "./errors.ts";

const hourMs = 3_600_000;

/** Answers of the publisher, one by one, each after the connection was reported anew, or the first alone. */
async function attested(answers: readonly (number | Error)[], everyMs = hourMs, reconnects = true) {
  const stop = new AbortController();
  const listeners = new Set<(state: BusState) => void>();
  const repaired: number[] = [];
  let calls = 0;
  const attest = async (): Promise<number> => {
    const answer = answers[calls++] ?? 0;
    if (typeof answer === "number") return answer;
    throw answer;
  };
  const onState = (listener: (state: BusState) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const report = (connected: boolean): void => {
    for (const listener of listeners) listener({ connected } as BusState);
  };
  let hasEnded = false;
  const running = attestEvery(
    {
      ...{
        bus: { onState, state: { connected: true } as BusState },
        publisher: { attest },
        everyMs,
        log: noopLogger,
        nowMs: () => 0,
      },
      onRepaired: (count) => repaired.push(count),
    },
    stop.signal,
  ).finally(() => {
    hasEnded = true;
  });
  let endedByItself = false;
  try {
    for (let wanted = 1; wanted <= answers.length && !hasEnded; wanted++) {
      if (wanted > 1 && !reconnects) {
        await until(() => calls >= wanted, { withinMs: 10_000, what: "another comparison" });
        await new Promise(setImmediate);
        continue;
      }
      report(false);
      await new Promise(setImmediate);
      if (everyMs === hourMs) assert.equal(calls, wanted - 1, "a lost connection is no reason to compare");
      report(true);
      await until(() => calls >= wanted || hasEnded, { withinMs: 5_000, what: "a comparison", everyMs: 1 });
      await new Promise(setImmediate);
    }
    endedByItself = hasEnded;
  } finally {
    stop.abort();
    await running;
  }
  return { calls, repaired, endedByItself, listeners: listeners.size };
}

describe("a publisher's comparison with the stream", () => {
  it("happens at each new connection, and its repairs are counted", async () => {
    const found = await attested([0, 2, 0, 1]);
    assert.deepEqual(found, { calls: 4, repaired: [2, 1], endedByItself: false, listeners: 0 });
  });
  it("happens from time to time without any", async () => {
    const { calls } = await attested([0, 0, 0], 1);
    assert.ok(calls >= 3, `${calls} comparisons`);
  });
  const closed = new BusError("BUS_CLOSED", "closed");
  const errors: readonly (readonly [string, Error, boolean])[] = [
    ["goes on after a failure", new Error("no answer"), false],
    ["goes on after a failure of the bus", new BusError("BUS_SEALED", "another key"), false],
    [
      "goes on after a failure that only looks like a closed bus",
      Object.assign(new Error(), { code: "BUS_CLOSED" }),
      false,
    ],
    ["ends when the bus is closed", closed, true],
  ];
  for (const [name, error, ends] of errors)
    it(name, async () => {
      const found = await attested([error, 3]);
      assert.deepEqual(found, { calls: ends ? 1 : 2, repaired: ends ? [] : [3], endedByItself: ends, listeners: 0 });
    });
  it("that failed is made again soon, without a new connection", async () => {
    const found = await attested([new Error("no answer"), 3], hourMs, false);
    assert.deepEqual(found, { calls: 2, repaired: [3], endedByItself: false, listeners: 0 });
  });
});
