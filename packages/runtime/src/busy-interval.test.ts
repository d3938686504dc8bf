import assert from "node:assert/strict";
import { test } from "node:test";
import { type BusyCall, busyInterval } from "./busy-interval.ts";
import { delay, until } from "./wait.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });

test("is short at the start, a second once the loop is calm, and short again when it is busy", async () => {
  const calls: BusyCall[] = [];
  const end = busyInterval((call) => calls.push(call), 20);
  try {
    assert.equal((await until(() => calls[0], soon("the first call"))).nextMs, 20);
    await until(() => calls.at(-1)?.nextMs === 1_000, { ...soon("a calm loop"), everyMs: 500 });
    let isBusy = true;
    const working = (async () => {
      while (isBusy) {
        for (const untilMs = performance.now() + 10; performance.now() < untilMs; );
        await delay(20);
      }
    })();
    await until(() => calls.at(-1)?.nextMs === 20, soon("a busy loop"));
    isBusy = false;
    await working;
  } finally {
    end();
  }
  const { length } = calls;
  await delay(100);
  assert.equal(calls.length, length);
});

test("measures how late a call is", async () => {
  const calls: BusyCall[] = [];
  const end = busyInterval((call) => calls.push(call), 20);
  for (const untilMs = performance.now() + 200; performance.now() < untilMs; );
  const late = await until(() => calls[0], soon("the call"));
  end();
  assert.ok(late.lateMs >= 150, String(late.lateMs));
});
