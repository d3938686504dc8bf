/** Loops beside serving outlive a store that stands connected and fails: a Redis that hangs, is full, or is read-only. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { StateError } from "@flotilla/state";
import { publishReplica } from "../debug/replica-record.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { balanceStreams } from "./balance.ts";

/** Fails as long as `isFailing`, and counts the calls. */
function failingStore() {
  const calls = { failed: 0, done: 0 };
  const store = {
    isFailing: true,
    calls,
    state: { connected: true } as const,
    answer: async <T>(value: T): Promise<T> => {
      if (store.isFailing) {
        calls.failed++;
        throw new StateError("STATE_AWAY", "redis does not do it: Command timed out");
      }
      calls.done++;
      return value;
    },
  };
  return store;
}

const soon = (what: string) => ({ withinMs: 30_000, what });

it("balancing goes on after a store that fails while connected", async () => {
  const store = failingStore();
  const stop = new AbortController();
  const streams = ["1", "2"].map((id) => ({ id, isIdle: () => false }) as StreamRecord);
  const running = balanceStreams(
    {
      ...{
        id: "a",
        streams: () => streams,
        disconnect: () => {},
        perSecond: 1,
        random: () => 0,
        onHandedOff: () => {},
      },
      store: { state: store.state, replicas: () => store.answer(new Map()) },
      ...{ log: noopLogger, everyMs: 1 },
    },
    stop.signal,
  );
  await until(() => store.calls.failed > 1, soon("failures"));
  store.isFailing = false;
  await until(() => store.calls.done > 1, soon("answers"));
  stop.abort();
  await running;
});

it("the record of a replica is written whole after a store that failed while connected", async () => {
  const store = failingStore();
  const whole: boolean[] = [];
  const stop = new AbortController();
  const running = publishReplica(
    {
      ...{ id: "a", replica: "a", streams: () => [], log: noopLogger, everyMs: 1 },
      store: {
        state: store.state,
        putReplica: (_id, { isWhole }) => {
          whole.push(isWhole);
          return store.answer(0);
        },
        removeReplica: () => store.answer(undefined),
      },
    },
    stop.signal,
  );
  await until(() => store.calls.failed > 1, soon("failures"));
  store.isFailing = false;
  await until(() => store.calls.done > 2, soon("records"));
  stop.abort();
  await running;
  assert.deepEqual(whole.slice(0, store.calls.failed + 1).includes(false), false, "whole until one has been taken");
  assert.equal(whole.at(-1), false);
});
