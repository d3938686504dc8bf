import assert from "node:assert/strict";
import { test } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import type { StreamRecord } from "../serve/stream-record.ts";
import { balanceStreams, surplus } from "./balance.ts";

test("a replica alone, with its share or a little more keeps all", () => {
  assert.equal(surplus(500, []), 0);
  assert.equal(surplus(100, [100]), 0);
  assert.equal(surplus(104, [96]), 0);
  assert.equal(surplus(2, [1]), 0);
  assert.equal(surplus(0, [50]), 0);
});

test("half of what is too much is handed off", () => {
  assert.equal(surplus(1_000, [0]), 250);
  assert.equal(surplus(300, [0, 0]), 100);
  assert.equal(surplus(3, [0]), 1);
});

test("hand-offs that a balancer sends anywhere end within a fifth of the mean", () => {
  const counts = [1_000, 0, 0];
  // A balancer that takes turns, and replicas that see counts of a moment ago.
  for (let round = 0, turn = 0; round < 30; round++) {
    const before = [...counts];
    const leaving = before.map((own, i) =>
      Math.min(
        50,
        surplus(
          own,
          before.filter((_, j) => j !== i),
        ),
      ),
    );
    for (const [i, count] of leaving.entries()) {
      for (let k = 0; k < count; k++) {
        counts[i] = (counts[i] ?? 0) - 1;
        const to = turn++ % counts.length;
        counts[to] = (counts[to] ?? 0) + 1;
      }
    }
  }
  assert.ok(Math.max(...counts) / (1_000 / 3) < 1.2, counts.join());
});

test("a surplus is handed off when it is there twice: records of others are of a moment ago", async () => {
  const seen: number[] = [];
  const disconnected: string[] = [];
  const stop = new AbortController();
  // The record of the other replica: first that of before its proxies connected, then as many as ours, then none.
  const others = [0, 4, 4, 0, 0];
  const record = () => {
    const streams = others[Math.min(seen.length, others.length - 1)] ?? 0;
    seen.push(streams);
    return new Map([["b", { replica: "b", streams }]]);
  };
  const streams = ["1", "2", "3", "4"].map((id) => ({ id, isIdle: () => false }) as StreamRecord);
  const running = balanceStreams(
    {
      ...{ id: "a", streams: () => streams, perSecond: 1_000_000, random: () => 0, log: noopLogger, everyMs: 1 },
      disconnect: (id) => disconnected.push(`${id} after ${seen.length} looks`),
      onHandedOff: () => stop.abort(),
      store: { state: { connected: true }, replicas: async () => record() },
    },
    stop.signal,
  );
  await until(() => stop.signal.aborted, { withinMs: 30_000, what: "a hand-off" });
  await running;
  assert.deepEqual(disconnected, ["1 after 5 looks"]);
});

test("streams that are idle are not handed off", async () => {
  const stop = new AbortController();
  let looks = 0;
  const replicas = async () => {
    if (++looks === 5) stop.abort();
    return new Map([["b", { replica: "b", streams: 2 }]]);
  };
  const streams = ["1", "2", "3", "4", "5", "6"].map((id) => ({ id, isIdle: () => Number(id) > 2 }) as StreamRecord);
  const disconnect = (id: string) => assert.fail(`${id} is handed off`);
  const options = {
    id: "a",
    streams: () => streams,
    perSecond: 1_000_000,
    random: () => 0,
    log: noopLogger,
    everyMs: 1,
  };
  const store = { state: { connected: true } as const, replicas };
  await balanceStreams({ ...options, disconnect, onHandedOff: () => undefined, store }, stop.signal);
  assert.equal(looks, 5);
});
