import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { onSharedTick, sharedDelay } from "./shared-delay.ts";
import { delay, Wakeup } from "./wait.ts";

const never = new AbortController().signal;

// First, while the process has no tick yet.
test("waits go on where a test has replaced the timers for a while", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  const waiting = [sharedDelay(1_000), sharedDelay(20)];
  t.mock.timers.reset();
  await Promise.all([...waiting, sharedDelay(1_000)]);
});

test("waits of a second that begin at different times end together", async () => {
  const ended: number[] = [];
  const wait = async (ms: number): Promise<void> => {
    await sharedDelay(ms);
    ended.push(performance.now());
  };
  // Just behind a tick, so that no other one lies between the beginnings.
  await sharedDelay(1_000);
  const first = wait(1_000);
  await delay(100);
  await Promise.all([first, wait(1_000), wait(1_200), new Wakeup().waitShared(never, 1_000)]);
  assert.equal(ended.length, 3);
  assert.ok((ended.at(-1) ?? 0) - (ended[0] ?? 0) < 400, ended.join(" "));
});

test("a wait of two seconds ends a tick later than one of one second", async () => {
  const ended: string[] = [];
  const wait = (name: string, ms: number) => sharedDelay(ms).then(() => ended.push(name));
  await Promise.all([wait("two", 2_000), wait("one", 1_000)]);
  assert.deepEqual(ended, ["one", "two"]);
});

test("a wait below a second is as long as it is", async () => {
  const sinceMs = performance.now();
  await sharedDelay(20);
  assert.ok(performance.now() - sinceMs < 900);
});

test("a wait ends when it is stopped, or woken", async () => {
  const stop = new AbortController();
  const waiting = sharedDelay(600_000, stop.signal);
  stop.abort();
  await waiting;
  await sharedDelay(600_000, stop.signal);
  const wakeup = new Wakeup();
  const woken = wakeup.waitShared(never, 600_000);
  wakeup.wake();
  assert.equal(await woken, true);
  assert.equal(await wakeup.waitShared(stop.signal, 600_000), false);
});

test("a listener is called with each tick until it is ended", async () => {
  let calls = 0;
  const end = onSharedTick(() => calls++);
  await sharedDelay(1_000);
  assert.equal(calls, 1);
  end();
  await sharedDelay(1_000);
  assert.equal(calls, 1);
});

test("waiting keeps a process alive, listening and what was stopped do not", () => {
  const module = JSON.stringify(new URL("./shared-delay.ts", import.meta.url).href);
  const code = `
    import { onSharedTick, sharedDelay } from ${module};
    onSharedTick(() => undefined);
    const stop = new AbortController();
    void sharedDelay(600_000, stop.signal);
    await sharedDelay(1_000);
    console.log("waited");
    stop.abort();`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { timeout: 60_000 });
  assert.deepEqual([String(stdout).trim(), status], ["waited", 0]);
});
