/** Groups of a registry of several parts: the first with all or in time, then one for each change. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RegistryInput } from "@flotilla/registry";
import { aborted } from "@flotilla/runtime";
import { GatheredGroups, type GatheringOptions } from "./gathered-groups.ts";

const pod = (name: string): RegistryInput =>
  ({ type: "object", op: "delete", cluster: "c", key: { kind: "Pod", namespace: "n", name } }) as RegistryInput;

function setUp(more: Partial<GatheringOptions> = {}) {
  const stop = new AbortController();
  const late: (readonly string[])[] = [];
  const state = { unread: [] as readonly string[], old: [] as readonly string[], hasEnded: false };
  const gathered = new GatheredGroups({
    ...{ syncTimeoutMs: 60_000, nowMs: Date.now, unread: () => state.unread, old: () => state.old },
    follow: async (end) => {
      await aborted(end);
      state.hasEnded = true;
    },
    onLate: (unread) => void late.push(unread),
    ...more,
  });
  const groups = gathered.groups(stop.signal);
  const next = async () => {
    const { value } = await groups.next();
    return value && [value.inputs.length, value.unread];
  };
  return { gathered, state, late, stop, groups, next };
}

describe("groups of a registry", () => {
  it("begin once all is read, go on with each change, and no listener is late", async () => {
    const { gathered, state, late, stop, groups, next } = setUp();
    state.unread = ["east"];
    const first = next();
    gathered.emit(pod("a"));
    gathered.emit(pod("b"));
    state.unread = [];
    gathered.wake();
    assert.deepEqual(await first, [2, []]);
    gathered.emit(pod("c"));
    assert.deepEqual(await next(), [1, []]);
    // Without a change of an object, but of what can be followed.
    state.old = ["east"];
    gathered.wake();
    assert.deepEqual(await next(), [0, ["east"]]);
    gathered.emit(pod("d"));
    assert.deepEqual(await next(), [1, ["east"]]);
    assert.deepEqual(late, []);
    stop.abort();
    assert.equal((await groups.next()).done, true);
    assert.equal(state.hasEnded, true);
  });

  it("of pods alone do not go on waiting for the gap when something else comes", { timeout: 20_000 }, async (t) => {
    const { gathered, stop, groups, next } = setUp({ podGapMs: 600_000, nowMs: () => 1_000 });
    t.after(() => stop.abort());
    gathered.emit(pod("a"));
    assert.deepEqual(await next(), [1, []]);
    gathered.emit(pod("b"));
    const waiting = next();
    await new Promise((resolve) => setImmediate(resolve));
    gathered.emit({ ...pod("s"), key: { kind: "EndpointSlice", namespace: "n", name: "s" } } as RegistryInput);
    assert.deepEqual(await waiting, [2, []]);
    stop.abort();
    assert.equal((await groups.next()).done, true);
  });

  it("of pods alone follow each other with a gap, and what endpoints are made of ends the wait", async () => {
    let now = 1_000;
    const { gathered, stop, groups, next } = setUp({ podGapMs: 30, nowMs: () => now });
    const slice = { ...pod("s"), key: { kind: "EndpointSlice", namespace: "n", name: "s" } } as RegistryInput;
    gathered.emit(pod("a"));
    assert.deepEqual(await next(), [1, []]);
    gathered.emit(pod("b"));
    const second = next();
    now += 29;
    gathered.emit(pod("c"));
    now += 1;
    assert.deepEqual(await second, [2, []]);
    gathered.emit(pod("d"));
    gathered.emit(slice);
    assert.deepEqual(await next(), [2, []]);
    now += 30;
    gathered.emit(pod("e"));
    assert.deepEqual(await next(), [1, []]);
    stop.abort();
    assert.equal((await groups.next()).done, true);
  });

  it("begin without those that cannot be read in time, which is reported once", async () => {
    const { gathered, state, late, stop, groups, next } = setUp({ syncTimeoutMs: 5 });
    state.unread = ["east"];
    gathered.emit(pod("a"));
    assert.deepEqual(await next(), [1, ["east"]]);
    assert.deepEqual(late, [["east"]]);
    gathered.emit(pod("b"));
    assert.deepEqual(await next(), [1, ["east"]]);
    assert.deepEqual(late, [["east"]]);
    stop.abort();
    await groups.next();
  });

  it("end with the failure of a part, unless the end was asked for", async () => {
    const { gathered, groups, next, state } = setUp();
    await next();
    gathered.fail(new RangeError("first"));
    gathered.fail(new RangeError("second"));
    await assert.rejects(groups.next(), /first/);
    assert.equal(state.hasEnded, true);
    const failing = setUp({ follow: () => Promise.reject(new RangeError("cannot follow")) });
    await assert.rejects(async () => {
      for await (const _ of failing.groups);
    }, /cannot follow/);
    const ended = setUp();
    await ended.next();
    ended.stop.abort();
    ended.gathered.fail(new RangeError("late"));
    assert.equal((await ended.groups.next()).done, true);
  });

  it("of kinds that have no name are a fault", () => {
    const { gathered } = setUp();
    assert.throws(() => gathered.emit({ type: "other" } as never), /gave a change of type other/);
  });
});
