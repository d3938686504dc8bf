/** The start from the shared snapshot: of a store that is there, that comes late, and that stays away. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import type { XdsService } from "../settings.ts";
import { loadSnapshot, openSnapshot } from "./snapshot.ts";

interface State {
  connected: boolean;
}

/** Like a store of Redis, it reports changes of its state alone. */
function aStore(state: State) {
  const listeners = new Set<(now: State) => unknown>();
  const onState = (listener: (now: State) => unknown) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const set = (connected: boolean) => {
    state.connected = connected;
    for (const listener of listeners) listener(state);
  };
  return { state, listeners, onState, set };
}

/** A start from a store; `turns` lets it get as far as it does without waiting for the clock. */
function load({ connected, stop = new AbortController().signal }: State & { readonly stop?: AbortSignal }) {
  const store = aStore({ connected });
  const warnings: string[] = [];
  const log: Logger = { ...noopLogger, warn: (text) => void warnings.push(text) };
  let loaded = 0;
  const ingest = { loadSnapshot: async () => void loaded++ };
  const ended = loadSnapshot({ log, stop }, { store: store as never }, ingest as never);
  const now = () => ({ loaded, warnings, left: store.listeners.size });
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    return now();
  };
  return { store, ended, now, turns };
}

describe("the snapshot at the start", () => {
  const isLoaded = { loaded: 1, warnings: [], left: 0 };
  it("is loaded from a store that is there, without a wait", async () => {
    assert.deepEqual(await load({ connected: true }).turns(), isLoaded);
  });
  it("is loaded as soon as the store is there", async () => {
    const { store, turns } = load({ connected: false });
    store.set(false);
    assert.deepEqual(await turns(), { loaded: 0, warnings: [], left: 1 });
    store.set(true);
    assert.deepEqual(await turns(), isLoaded);
  });
  it("is left out while the store is away", async () => {
    const { ended, now } = load({ connected: false, stop: AbortSignal.timeout(30) });
    await ended;
    const warnings = ["redis unreachable, going on without a snapshot"];
    assert.deepEqual(now(), { loaded: 0, warnings, left: 0 });
  });
});

describe("the store of the snapshot", () => {
  async function conditionsAt(storeUrl: string, sealKeyFile?: string) {
    const conditions: (string | undefined)[] = [];
    const setCondition = (name: string, detail: string | undefined) => {
      assert.equal(name, "store");
      conditions.push(detail);
    };
    const settings = { storeUrl, sealKeyFile };
    const snapshot = await openSnapshot({
      settings,
      health: { setCondition },
      log: noopLogger,
    } as unknown as XdsService);
    return { conditions, snapshot, [Symbol.asyncDispose]: () => snapshot[Symbol.asyncDispose]() };
  }
  it("has no condition while it is connected", async () => {
    await using one = await conditionsAt("embedded:snapshot-test");
    assert.deepEqual(
      one.conditions.filter((detail) => detail !== undefined),
      [],
    );
    assert.equal(one.snapshot.seal, undefined);
    assert.equal(one.snapshot.store.state.connected, true);
  });
  it("is sealed where there is a key", async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-snapshot-"));
    const file = join(directory, "key");
    writeFileSync(file, randomBytes(32).toString("base64"));
    await using one = await conditionsAt("embedded:snapshot-test-sealed", file);
    assert.ok(one.snapshot.seal !== undefined);
    rmSync(directory, { recursive: true });
  });
  it("is named as unreachable with the reason", async () => {
    await using one = await conditionsAt("redis://127.0.0.1:1");
    const what = { withinMs: 10_000, what: "the refused connection" };
    await until(() => one.conditions.some((text) => /^unreachable: .*ECONNREFUSED/.test(text ?? "")), what);
    assert.ok(one.conditions.every((text) => text?.startsWith("unreachable: ")));
  });
});
