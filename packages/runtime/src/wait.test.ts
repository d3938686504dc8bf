import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { aborted, backoff, coalesced, delay, orAborted, timeLimit, until, Wakeup } from "./index.ts";
import { ageMs, delayByWallClock } from "./wait.ts";

describe("waiting", () => {
  it("until something comes true gives what came", async () => {
    let tries = 0;
    assert.equal(
      await until(() => (++tries === 3 ? "there" : undefined), { withinMs: 1_000, what: "it", everyMs: 1 }),
      "there",
    );
  });

  it("until a deadline reports what was awaited and why it did not come", async () => {
    const check = (): never => {
      throw new Error("connection refused");
    };
    await assert.rejects(until(check, { withinMs: 5, what: "the server", everyMs: 1 }), {
      code: "WAIT_EXPIRED",
      message: /5 ms for the server; last failure: connection refused/,
    });
  });

  it("is done once for many calls, again for a later one, and not after the end", async () => {
    const stop = new AbortController();
    let done = 0;
    const call = coalesced(() => void done++, 5, stop.signal);
    for (let calls = 0; calls < 1_000; calls++) call();
    assert.equal(done, 0);
    await until(() => done === 1, { withinMs: 1_000, what: "the first" });
    call();
    await until(() => done === 2, { withinMs: 1_000, what: "the second" });
    call();
    stop.abort();
    await delay(20);
    assert.equal(done, 2);
  });

  it("ends with the signal", async () => {
    const stop = new AbortController();
    const reason = new Error("stopped");
    const waits = [
      until(() => false, { withinMs: 10_000, what: "nothing", stop: stop.signal }),
      orAborted(new Promise<never>(() => undefined), stop.signal),
    ];
    const quiet = [delay(10_000, stop.signal), aborted(stop.signal), new Wakeup().wait(stop.signal)];
    stop.abort(reason);
    for (const wait of waits) await assert.rejects(wait, reason);
    await Promise.all(quiet);
  });

  it("leaves no rejection behind when it was stopped before", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    try {
      const { promise, reject } = Promise.withResolvers<never>();
      await assert.rejects(orAborted(promise, AbortSignal.abort(new Error("enough"))), /enough/);
      reject(new Error("an answer that is not awaited"));
      await delay(1);
      assert.deepEqual(unhandled, []);
    } finally {
      process.off("unhandledRejection", onUnhandled);
    }
  });

  it("a wake-up that comes early is not lost, and counts once", async () => {
    const wakeup = new Wakeup();
    const { signal } = new AbortController();
    wakeup.wake();
    wakeup.wake();
    assert.equal(await wakeup.wait(signal), true);
    assert.equal(await wakeup.wait(signal, 1), false);
    const waiting = wakeup.wait(signal);
    wakeup.wake();
    assert.equal(await waiting, true);
  });

  it("backs off: doubling, spread, up to a limit", () => {
    const waits = (random: number): readonly number[] => {
      const sequence = backoff({ firstMs: 100, maxMs: 400, random: () => random });
      return Array.from({ length: 5 }, () => sequence.next().value);
    };
    assert.deepEqual(waits(1), [100, 200, 400, 400, 400]);
    assert.deepEqual(waits(0), [50, 100, 200, 200, 200]);
  });
});

const hourMs = 3_600_000;

describe("wall clock", () => {
  it("an age is what passed, and that of a thing from the future is more than any", () => {
    assert.equal(ageMs(1_000, 5_000), 4_000);
    assert.equal(ageMs(5_000, 1_000), Number.POSITIVE_INFINITY);
  });

  it("a delay of an hour ends soon after a jump over it", async () => {
    let jumpMs = 0;
    const before = performance.now();
    const waiting = delayByWallClock(hourMs, undefined, () => Date.now() + jumpMs);
    jumpMs = 48 * hourMs;
    await waiting;
    assert.ok(performance.now() - before < 30_000);
  });

  it("a clock that is set back makes no delay longer", async () => {
    let jumpMs = 0;
    const before = performance.now();
    const waiting = delayByWallClock(200, undefined, () => Date.now() + jumpMs);
    jumpMs = -48 * hourMs;
    await waiting;
    assert.ok(performance.now() - before >= 199);
    assert.ok(performance.now() - before < 30_000);
  });

  it("ends when it is stopped", async () => {
    const stop = new AbortController();
    const waiting = delayByWallClock(hourMs, stop.signal);
    stop.abort();
    await waiting;
  });
});

describe("a time limit", () => {
  const limits = {
    "that only polls look at": (signal: AbortSignal) =>
      until(() => signal.aborted, { withinMs: 30_000, what: "the limit" }),
    "that somebody listens to": (signal: AbortSignal) => aborted(signal),
  };
  for (const [name, reached] of Object.entries(limits))
    it(`${name} is reached after a collection of garbage`, async () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      const { signal } = timeLimit(50, new AbortController().signal);
      const waiting = reached(signal);
      await delay(10);
      collect();
      await waiting;
      assert.equal((signal.reason as Error).name, "TimeoutError");
    });

  it("ends with the reason of who stops it, before and after it began", async () => {
    const reason = new Error("enough");
    const stop = new AbortController();
    const { signal } = timeLimit(60_000, stop.signal);
    assert.equal(signal.aborted, false);
    stop.abort(reason);
    assert.equal(signal.reason, reason);
    assert.equal(timeLimit(60_000, stop.signal).signal.reason, reason);
  });

  it("that is disposed of is never reached", async () => {
    const stop = new AbortController();
    const limit = timeLimit(1, stop.signal);
    limit[Symbol.dispose]();
    await delay(20);
    stop.abort();
    assert.equal(limit.signal.aborted, false);
  });
});
