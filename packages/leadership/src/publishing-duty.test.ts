import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bus, connectBus, type Publisher } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import { PublishingDuty } from "./publishing-duty.ts";

function change(name: string): Change {
  const key = { kind: "ServiceEntry", namespace: "n", name };
  return { type: "config", op: "delete", key };
}

function names(changes: readonly Change[]): string {
  return changes.map(({ key }) => ("name" in key ? key.name : "")).join(",");
}

function replica(bus: Bus, holder: string, said: string[], leaseMs = 600) {
  const report = (what: string) => {
    said.push(`${holder} ${what}`);
    return Promise.resolve(1);
  };
  const publisher: Publisher = {
    lastSequence: 0,
    openCalls: 0,
    synchronize: (state) => report(`all ${names([...state])}`),
    publish: (changes) => report(names(changes)),
    prune: () => report("pruned"),
    attest: () => Promise.resolve(0),
    retire: () => Promise.resolve(),
  };
  const stop = new AbortController();
  const duty = new PublishingDuty({
    controller: "c",
    bus,
    publisher,
    holder,
    log: noopLogger,
    leaseMs,
    whilePublishing: aborted,
  });
  const running = duty.run(stop.signal);
  return {
    duty,
    async stop() {
      stop.abort();
      await running;
    },
  };
}

async function opened(name: string): Promise<Bus> {
  const { signal } = new AbortController();
  return connectBus({ url: `embedded:${name}`, clientName: "t", log: noopLogger }, signal);
}

test("one of two publishes; the other begins with all that it knows when the first stops", async () => {
  await using bus = await opened("duty-two");
  const said: string[] = [];
  const one = replica(bus, "one", said);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await one.duty.settled;
  const two = replica(bus, "two", said);
  let known = [change("a")];
  await two.duty.noteSnapshot(() => [known]);
  await two.duty.settled;
  assert.equal(await one.duty.publish([change("b")]), 1);
  assert.equal(await two.duty.publish([change("b")]), 0);
  known = [change("a"), change("b")];
  assert.deepEqual(said, ["one all a", "one b"]);
  await one.stop();
  await until(() => two.duty.isOurs, { withinMs: 30_000, what: "two to publish" });
  assert.equal(await two.duty.publish([change("c")]), 1);
  assert.deepEqual(said, ["one all a", "one b", "two all a,b", "two c"]);
  await two.stop();
});

test("a publisher that cannot renew stops, and publishes everything when it can again", async () => {
  await using bus = await opened("duty-lost");
  let isAway = false;
  const cut: Bus = {
    ...bus,
    keyValue: async (bucket, options) => {
      const values = await bus.keyValue(bucket, options);
      const unlessAway = <T>(work: () => Promise<T>) => (isAway ? Promise.reject(new Error("away")) : work());
      const get: typeof values.get = (key) => unlessAway(() => values.get(key));
      const update: typeof values.update = (...given) => unlessAway(() => values.update(...given));
      return { ...values, get, update };
    },
  };
  const said: string[] = [];
  const one = replica(cut, "one", said);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await one.duty.settled;
  isAway = true;
  const isRefused = async () => (await one.duty.publish([change("b")])) === 0;
  await until(isRefused, { withinMs: 30_000, what: "the lease to run out", everyMs: 50 });
  said.length = 0;
  isAway = false;
  await until(() => said.includes("one all a"), { withinMs: 30_000, what: "all to be published again" });
  await one.stop();
});

test("a bucket that cannot be opened is tried again", async () => {
  await using bus = await opened("duty-refused");
  let attempts = 0;
  const keyValue: Bus["keyValue"] = (...given) =>
    ++attempts < 2 ? Promise.reject(new Error("maximum number of streams reached")) : bus.keyValue(...given);
  const said: string[] = [];
  const one = replica(Object.assign(Object.create(bus) as Bus, { keyValue }), "one", said);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await one.duty.settled;
  await one.stop();
  assert.deepEqual([attempts, said], [2, ["one all a"]]);
});

test("a lease is asked for as soon as the bus is back, not at the next renewal", async () => {
  await using bus = await opened("duty-back");
  const listeners = new Set<Parameters<Bus["onState"]>[0]>();
  let asked = 0;
  const keyValue: Bus["keyValue"] = async (...given) => {
    const values = await bus.keyValue(...given);
    const get: typeof values.get = (key) => {
      asked++;
      return values.get(key);
    };
    return { ...values, get };
  };
  let state: Bus["state"] = { connected: false, sinceMs: 0, reason: "a:4222" };
  const onState: Bus["onState"] = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const cut = Object.defineProperty(Object.create(bus) as Bus, "state", { get: () => state });
  const said: string[] = [];
  const renewMs = 60_000;
  const one = replica(Object.assign(cut, { keyValue, onState }), "one", said, 6 * renewMs);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await until(() => listeners.size === 1, { withinMs: 30_000, what: "the duty to wait" });
  assert.equal(asked, 0);
  state = { connected: true };
  for (const listener of listeners) listener(state);
  await until(() => said.includes("one all a"), { withinMs: renewMs / 2, what: "all to be published" });
  assert.equal(listeners.size, 0);
  await one.stop();
});

test("a duty that waits for the bus ends when it is stopped", async () => {
  await using bus = await opened("duty-away");
  const state: Bus["state"] = { connected: false, sinceMs: 0, reason: "a:4222" };
  const cut = Object.defineProperty(Object.create(bus) as Bus, "state", { get: () => state });
  const one = replica(cut, "one", []);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await one.stop();
  assert.equal(one.duty.isOurs, false);
});

test("only the replica that publishes prunes and takes changes", async () => {
  await using bus = await opened("duty-prune");
  const said: string[] = [];
  const one = replica(bus, "one", said, 600_000);
  const work = async () => [await one.duty.prune(() => true), await one.duty.publish([change("b")])];
  assert.deepEqual(await work(), [0, 0]);
  await one.duty.noteSnapshot(() => [[change("a")]]);
  await until(() => one.duty.isOurs, { withinMs: 20_000, what: "the duty", everyMs: 2 });
  assert.deepEqual(await work(), [1, 1]);
  assert.deepEqual(said, ["one all a", "one pruned", "one b"]);
  await one.stop();
  assert.deepEqual(await work(), [0, 0]);
});
