/** The start from the shared snapshot: of a store that is there, that comes late, and that stays away. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, noopLogger } from "@flotilla/runtime";
import { loadSnapshot } from "./snapshot.ts";

interface State {
  connected: boolean;
}

/** Connects after so long; undefined: never. */
function aStore(afterMs: number | undefined) {
  const state: State = { connected: afterMs === 0 };
  const listeners = new Set<(now: State) => unknown>();
  const connect = () => {
    state.connected = true;
    for (const listener of listeners) listener(state);
  };
  const timer = afterMs ? setTimeout(connect, afterMs) : undefined;
  return {
    state,
    listeners,
    onState: (listener: (now: State) => unknown) => {
      listeners.add(listener);
      listener(state);
      return () => void listeners.delete(listener);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

async function load(afterMs: number | undefined, stop = new AbortController().signal) {
  using store = aStore(afterMs);
  const warnings: string[] = [];
  const log: Logger = { ...noopLogger, warn: (text) => void warnings.push(text) };
  let loaded = 0;
  const ingest = { loadSnapshot: async () => void loaded++ };
  await loadSnapshot({ log, stop }, { store: store as never }, ingest as never);
  return { loaded, warnings, left: store.listeners.size };
}

describe("the snapshot at the start", () => {
  it("is loaded from a store that is there", async () => {
    assert.deepEqual(await load(0), { loaded: 1, warnings: [], left: 0 });
  });
  it("is waited for a moment", async () => {
    assert.deepEqual(await load(20), { loaded: 1, warnings: [], left: 0 });
  });
  it("is left out while the store is away", async () => {
    const warnings = ["redis unreachable, going on without a snapshot"];
    assert.deepEqual(await load(undefined, AbortSignal.timeout(30)), { loaded: 0, warnings, left: 0 });
  });
});
