import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Bus, type BusItem, connectBus, createPublisher, SetAside } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import { Ingest } from "./ingest.ts";
import { createIngestMetrics } from "./ingest-metrics.ts";

const config = (name: string, x: number): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name };
  return {
    type: "config",
    op: "put",
    key,
    value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { x } },
  };
};
const publishers = ["config-controller", "service-controller"];

function publisherOn(bus: Bus, publisher = "config-controller") {
  return createPublisher({ bus, publisher, seal: undefined, log: noopLogger, nowMs: Date.now });
}

/** A replica: what it holds, how each object changed, and whether its mesh is complete. */
function replica(storeUrl: string) {
  const held = new Map<string, number>();
  const history: string[] = [];
  const completed: string[] = [];
  const store = openStore({ url: storeUrl, log: noopLogger });
  const apply = (changes: readonly Change[]) => {
    for (const change of changes) {
      const name = "name" in change.key ? change.key.name : "";
      history.push(`${change.op} ${name}`);
      if (change.op === "delete") held.delete(name);
      else if (change.type === "config") held.set(name, (change.value.spec as { readonly x: number }).x);
    }
    return [];
  };
  const setAside = new SetAside({ log: noopLogger, nowMs: Date.now });
  const ingest = new Ingest({
    source: { apply },
    store,
    seal: undefined,
    setAside,
    log: noopLogger,
    metrics: createIngestMetrics(createMetrics()),
    nowMs: Date.now,
    publishers,
    onComplete: (from) => completed.push(`${from} with ${[...held.keys()].sort().join("+")}`),
  });
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const follow = (bus: Bus) => void running.push(ingest.follow(bus, stop.signal), ingest.persist(stop.signal));
  const end = async () => {
    stop.abort();
    await Promise.all(running);
    await store[Symbol.asyncDispose]();
  };
  return { held, history, completed, store, ingest, setAside, follow, [Symbol.asyncDispose]: end };
}

const connect = (name: string) =>
  connectBus({ url: `embedded:${name}`, clientName: "test", log: noopLogger }, new AbortController().signal);
const soon = (what: string) => ({ withinMs: 30_000, what });

describe("ingest", () => {
  it("is complete with what came after the publishers' marks, not at the marks", async () => {
    await using bus = await connect("ingest-late");
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", 1)]);
    await publisherOn(bus, "service-controller").synchronize([]);
    await publisher.publish([config("b", 1)]);
    await using one = replica("embedded:ingest-late");
    one.follow(bus);
    await until(() => one.completed.length > 0, soon("the mesh"));
    assert.deepEqual(one.completed, ["stream with a+b"]);
  });

  it("waits for every publisher, and writes no snapshot of a part", async () => {
    await using bus = await connect("ingest-part");
    await publisherOn(bus).synchronize([config("a", 1)]);
    await using one = replica("embedded:ingest-part");
    one.follow(bus);
    await until(() => one.held.size === 1, soon("the object"));
    // Longer than changes are gathered before they are written.
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.deepEqual(one.completed, []);
    assert.equal(await one.store.load(), undefined);
    await publisherOn(bus, "service-controller").synchronize([]);
    await until(() => one.completed.length > 0, soon("the mesh"));
    await until(() => one.store.load(), soon("the snapshot"));
  });

  it("goes on from the snapshot: nothing twice, nothing left out", async () => {
    await using bus = await connect("ingest-resume");
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", 1), config("b", 1)]);
    await publisherOn(bus, "service-controller").synchronize([]);
    await using one = replica("embedded:ingest-resume");
    one.follow(bus);
    await until(async () => (await one.store.load())?.entries.size === 2, soon("the snapshot"));
    await using two = replica("embedded:ingest-resume");
    await two.ingest.loadSnapshot();
    assert.deepEqual(two.completed, ["snapshot with a+b"]);
    await publisher.publish([config("b", 2)]);
    two.follow(bus);
    await until(() => two.held.get("b") === 2, soon("the change"));
    assert.deepEqual(two.history, ["put a", "put b", "put b"]);
  });

  it("entries of the snapshot that cannot be read are set aside: the rest is served, and the stream heals them", async () => {
    const storeUrl = "embedded:ingest-poison";
    await using held = openStore({ url: storeUrl, log: noopLogger });
    await using bus = await connect("ingest-poison");
    await publisherOn(bus).synchronize([config("a", 1), config("b", 1), config("c", 1)]);
    await publisherOn(bus, "service-controller").synchronize([]);
    {
      await using one = replica(storeUrl);
      one.follow(bus);
      await until(async () => (await held.load())?.entries.size === 3, soon("the snapshot"));
    }
    const { position = 0, epoch, entries } = (await held.load()) ?? {};
    const [keyB = "", keyC = ""] = ["b", "c"].map((name) => `config VirtualService/shop/${name}`);
    const poisoned = new Map([
      [keyB, Buffer.from("{")],
      [keyC, Buffer.from(entries?.get(keyB) ?? [])],
    ] as const);
    await until(() => held.claim(), soon("the lock"));
    assert.ok(await held.write({ entries: poisoned, position, epoch }));
    await using two = replica(storeUrl);
    await held[Symbol.asyncDispose]();
    await two.ingest.loadSnapshot();
    assert.deepEqual(two.completed, ["snapshot with a"]);
    assert.deepEqual(
      two.setAside
        .list()
        .map(({ place }) => place)
        .sort(),
      [`snapshot ${keyB}`, `snapshot ${keyC}`],
    );
    two.follow(bus);
    await until(() => two.held.size === 3, soon("the stream"));
    const isWhole = async () => (await two.store.load())?.entries.get(keyB)?.at(-1) === entries?.get(keyB)?.at(-1);
    await until(isWhole, soon("the snapshot to be written again"));
    await until(() => two.setAside.list().length === 0, soon("both to be off the list"));
  });

  it("a snapshot of another stream is compared with this one: nothing is taken back that is still there", async () => {
    const storeUrl = "embedded:ingest-epochs";
    await using held = openStore({ url: storeUrl, log: noopLogger });
    {
      await using bus = await connect("ingest-epoch-1");
      await publisherOn(bus).synchronize([config("a", 1), config("b", 1), config("gone", 1)]);
      await publisherOn(bus, "service-controller").synchronize([]);
      await using one = replica(storeUrl);
      one.follow(bus);
      await until(async () => (await held.load())?.entries.size === 3, soon("the snapshot"));
    }
    await using bus = await connect("ingest-epoch-2");
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", 1)]);
    await publisherOn(bus, "service-controller").synchronize([]);
    // As many messages as the old stream had, so that only the epoch distinguishes them.
    for (let x = 2; x < 9; x++) await publisher.publish([config("b", x)]);
    await using two = replica(storeUrl);
    await two.ingest.loadSnapshot();
    two.follow(bus);
    await until(() => !two.held.has("gone"), soon("the object that vanished to go"));
    assert.deepEqual(Object.fromEntries(two.held), { a: 1, b: 8 });
    assert.ok(!two.history.includes("delete a") && !two.history.includes("delete b"), two.history.join());
    await until(async () => (await held.load())?.epoch === bus.epoch, soon("the snapshot of the new stream"));
    const { position = 0 } = (await held.load()) ?? {};
    assert.ok(position > 0 && position <= two.ingest.position);
  });

  it("an object that was lost, one that came altered and one that never went are repaired by the digests", async () => {
    await using bus = await connect("ingest-digests");
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", 1), config("b", 1), config("c", 1)]);
    await publisherOn(bus, "service-controller").synchronize([]);
    await using one = replica("embedded:ingest-digests");
    one.follow(lossy(bus, ({ subject }) => subject.endsWith(".b") || subject.endsWith(".c")));
    await until(() => one.completed.length > 0, soon("the mesh"));
    await publisher.publish([config("a", 2)]);
    await publisher.publish([config("b", 2)]);
    await publisher.publish([{ type: "config", op: "delete", key: config("c", 1).key } as Change]);
    await until(() => one.held.get("a") === 2, soon("the change"));
    assert.deepEqual(Object.fromEntries(one.held), { a: 2, b: 1, c: 1 });
    assert.equal(await publisher.attest(), 0);
    await until(() => !one.held.has("c"), soon("the repair"));
    assert.deepEqual(Object.fromEntries(one.held), { a: 2, b: 2 });
    const before = one.history.length;
    await publisher.attest();
    await publisher.publish([config("a", 3)]);
    await until(() => one.held.get("a") === 3, soon("the next change"));
    assert.equal(one.history.length, before + 1, "what agrees is left alone");
  });

  it("changes are applied while a repair's topics are looked for", async () => {
    await using bus = await connect("ingest-digests-beside");
    const publisher = publisherOn(bus);
    const many = Array.from({ length: 5_000 }, (_, i) => config(`many-${i}`, 1));
    await publisher.synchronize([config("a", 1), config("b", 1), ...many]);
    await publisherOn(bus, "service-controller").synchronize([]);
    await using one = replica("embedded:ingest-digests-beside");
    one.follow(lossy(bus, ({ subject }) => subject.endsWith(".b")));
    await until(() => one.completed.length > 0, soon("the mesh"));
    await publisher.publish([config("b", 2)]);
    const attested = publisher.attest();
    await Promise.all([2, 3, 4].map((host) => publisher.publish([config("a", host)])));
    await attested;
    await until(() => one.held.get("a") === 4 && one.held.get("b") === 2, soon("the changes and the repair"));
    const before = one.history.length;
    await publisher.attest();
    await publisher.publish([config("a", 5)]);
    await until(() => one.held.get("a") === 5, soon("the next change"));
    assert.equal(one.history.length, before + 1, "what agrees is left alone");
  });
});

/** Loses what `isLost` names, once what was stored has been read. */
function lossy(bus: Bus, isLost: (message: { readonly subject: string }) => boolean): Bus {
  async function* follow(...args: Parameters<Bus["follow"]>): AsyncGenerator<BusItem> {
    let isLive = false;
    for await (const item of bus.follow(...args)) {
      if (item.kind === "caught-up") isLive = true;
      if (!isLive || item.kind !== "message" || !isLost(item.message)) yield item;
    }
  }
  return Object.create(bus, { follow: { value: follow } }) as Bus;
}
