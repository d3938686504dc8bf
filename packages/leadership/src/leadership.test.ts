import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import type { DutyLease } from "./duty-lease.ts";
import { Leadership } from "./leadership.ts";

/** A lease that the test gives and takes. */
function lease() {
  const state = { isHeld: false, released: 0, fails: false };
  const it: DutyLease = {
    get isHeld() {
      return state.isHeld;
    },
    get heldForMs() {
      return state.isHeld ? 10 : 0;
    },
    hold: () => (state.fails ? new Promise<boolean>(() => undefined) : Promise.resolve(state.isHeld)),
    release: () => {
      state.released++;
      state.isHeld = false;
      return Promise.resolve();
    },
  };
  return { state, it };
}
const soon = (what: string) => ({ withinMs: 30_000, what });

test("the duty is done while the lease is held, and the lease released at the end", async () => {
  const { state, it } = lease();
  const stop = new AbortController();
  const reported: boolean[] = [];
  let working = 0;
  const leadership = new Leadership({
    ...{ lease: it, duty: "lock", log: noopLogger, everyMs: 5, onChange: (leads) => reported.push(leads) },
  });
  const running = leadership.run(async (end) => {
    working++;
    await aborted(end);
    working--;
  }, stop.signal);
  state.isHeld = true;
  await until(() => working === 1, soon("the duty"));
  state.isHeld = false;
  await until(() => working === 0, soon("its end"));
  state.isHeld = true;
  await until(() => working === 1, soon("the duty again"));
  stop.abort();
  await running;
  assert.deepEqual([working, state.released, reported], [0, 1, [true, false, true, false]]);
});

test("a lease that runs out while it is asked for ends the duty", async () => {
  const { state, it } = lease();
  const stop = new AbortController();
  let working = 0;
  const running = new Leadership({ lease: it, duty: "lock", log: noopLogger, everyMs: 5 }).run(async (end) => {
    working++;
    await aborted(end);
    working--;
  }, stop.signal);
  state.isHeld = true;
  await until(() => working === 1, soon("the duty"));
  state.fails = true;
  state.isHeld = false;
  await until(() => working === 0, soon("its end"));
  stop.abort();
  await running;
});

test("a candidate that fails releases the lease and tries again later", async () => {
  const { state, it } = lease();
  const stop = new AbortController();
  let begun = 0;
  const options = { lease: it, duty: "lock", log: noopLogger, everyMs: 5, awayMs: 20 };
  const running = new Leadership(options).run(() => {
    begun++;
    return Promise.reject(new Error("forbidden"));
  }, stop.signal);
  state.isHeld = true;
  await until(() => state.released === 1, soon("the release"));
  state.isHeld = true;
  await until(() => begun === 2, soon("the next attempt"));
  stop.abort();
  await running;
});

test("a lease that ran out and is held again begins the duty anew", async () => {
  const { state, it } = lease();
  const stop = new AbortController();
  const asked = Promise.withResolvers<boolean>();
  let answer: () => Promise<boolean> = () => Promise.resolve(state.isHeld);
  const own: DutyLease = {
    get isHeld() {
      return state.isHeld;
    },
    get heldForMs() {
      return state.isHeld ? 10 : 0;
    },
    hold: () => answer(),
    release: () => it.release(),
  };
  let [begun, working] = [0, 0];
  const running = new Leadership({ lease: own, duty: "lock", log: noopLogger, everyMs: 5 }).run(async (end) => {
    begun++;
    working++;
    await aborted(end);
    working--;
  }, stop.signal);
  state.isHeld = true;
  await until(() => working === 1, soon("the duty"));
  let isAsked = false;
  answer = () => {
    isAsked = true;
    return asked.promise;
  };
  await until(() => isAsked, soon("the next question"));
  state.isHeld = false;
  await until(() => working === 0, soon("its end"));
  state.isHeld = true;
  answer = () => Promise.resolve(state.isHeld);
  asked.resolve(true);
  await until(() => begun === 2 && working === 1, soon("the duty again"));
  stop.abort();
  await running;
});

test("a duty ends when its lease does, however long the time between two calls is", async () => {
  const stop = new AbortController();
  const untilMs = performance.now() + 200;
  const heldForMs = (): number => Math.max(0, untilMs - performance.now());
  let calls = 0;
  const own: DutyLease = {
    get isHeld() {
      return heldForMs() > 0;
    },
    get heldForMs() {
      return heldForMs();
    },
    hold: () => (++calls === 1 ? Promise.resolve(true) : new Promise<boolean>(() => undefined)),
    release: () => Promise.resolve(),
  };
  const everyMs = 600_000;
  let endedMs: number | undefined;
  const running = new Leadership({ lease: own, duty: "lock", log: noopLogger, everyMs }).run(async (end) => {
    await aborted(end);
    endedMs = performance.now();
  }, stop.signal);
  const ended = await until(() => endedMs, soon("the end of the duty"));
  assert.ok(ended >= untilMs, `${ended} ${untilMs}`);
  stop.abort();
  await running;
});

test("a held lease is renewed after half of its time, and the sooner the less is left when that fails", async () => {
  const stop = new AbortController();
  const sinceMs = performance.now();
  const untilMs = sinceMs + 1_600;
  const calls: number[] = [];
  const own: DutyLease = {
    get isHeld() {
      return performance.now() < untilMs;
    },
    get heldForMs() {
      return Math.max(0, untilMs - performance.now());
    },
    hold: () => {
      calls.push(performance.now() - sinceMs);
      return calls.length === 1 ? Promise.resolve(true) : Promise.reject(new Error("away"));
    },
    release: () => Promise.resolve(),
  };
  const running = new Leadership({ lease: own, duty: "lock", log: noopLogger, everyMs: 500 }).run(aborted, stop.signal);
  await until(() => calls.length >= 4, soon("three renewals"));
  stop.abort();
  await running;
  const [, second = 0, third = 0, fourth = 0] = calls;
  assert.ok(second >= 750 && third - second >= 150 && fourth - third >= 90, calls.join(" "));
});
