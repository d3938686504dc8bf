/** An attacker with access to NATS but without the key can remove messages and values, and nothing else; removed ones come back. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import { connect, headers, type NatsConnection } from "nats";
import { busConformance } from "./bus.conformance.ts";
import {
  type Bus,
  connectBus,
  createPublisher,
  createSeal,
  filters,
  Lease,
  type Publisher,
  type Seal,
  type StoredMessage,
  type SubscriberItem,
  subscribe,
} from "./index.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-authentication-"));
const stop = new AbortController();
const seal = createSeal("the key of all services");
let server: RunningServer;
/** Speaks to NATS and has no key. */
let stranger: NatsConnection;

const object = (name: string, n: number): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name };
  return {
    type: "config",
    op: "put",
    key,
    value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { n } },
  };
};
const subjectOf = (name: string) => `flotilla.v1.config.VirtualService.shop.${name}`;
const open = (key: Seal = seal): Promise<Bus> =>
  connectBus({ url: server.url, clientName: "test", log: noopLogger, seal: key }, stop.signal);
const openWithoutKey = (): Promise<Bus> =>
  connectBus({ url: server.url, clientName: "test", log: noopLogger }, stop.signal);
const publisherOn = (bus: Bus): Publisher =>
  createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now });
const soon = (what: string) => ({ withinMs: 60_000, what });

async function write(subject: string, payload: string | Uint8Array, given: Readonly<Record<string, string>> = {}) {
  const all = headers();
  for (const [name, value] of Object.entries(given)) if (name !== "Nats-Msg-Id") all.set(name, value);
  await stranger.jetstream().publish(subject, payload, { headers: all });
}

async function storedOf(name: string): Promise<StoredMessage> {
  await using plain = await openWithoutKey();
  const found = (await plain.lastValues(filters.everything)).find(({ subject }) => subject === subjectOf(name));
  assert.ok(found);
  return found;
}

function read(bus: Bus, publishers: readonly string[] = []) {
  const held = new Map<string, unknown>();
  const kinds: SubscriberItem["kind"][] = [];
  const done = new AbortController();
  const ended = (async () => {
    const options = { bus, filter: filters.everything, afterSequence: 0, publishers, seal: undefined };
    for await (const item of subscribe(options, AbortSignal.any([stop.signal, done.signal]))) {
      kinds.push(item.kind);
      if (item.kind !== "group") continue;
      for (const change of item.group.changes) {
        if (change.type !== "config") continue;
        if (change.op === "put") held.set(change.key.name, (change.value.spec as { n: number }).n);
        else held.delete(change.key.name);
      }
    }
  })();
  const close = async () => {
    done.abort();
    await ended;
  };
  return { held, kinds, [Symbol.asyncDispose]: close };
}

const places = (bus: Bus) => bus.setAside.list().map(({ place }) => place);

describe("an authenticated bus on NATS", () => {
  before(async () => {
    server = await startNats({ directory, env: process.env });
    stranger = await connect({ servers: server.url });
  });
  beforeEach(async () => {
    const manager = await stranger.jetstreamManager();
    for (const { config } of await manager.streams.list().next()) await manager.streams.delete(config.name);
  });
  after(async () => {
    stop.abort();
    await stranger.close();
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  describe("keeps what every bus keeps", () => {
    busConformance(() => open());
  });

  const forgeries: readonly (readonly [name: string, forge: (stored: StoredMessage) => Promise<void>])[] = [
    ["a message without a code", () => write(subjectOf("a"), JSON.stringify(object("a", 666)))],
    [
      "another content below copied headers",
      ({ headers: copied }) => write(subjectOf("a"), JSON.stringify(object("a", 666)), copied),
    ],
    [
      "another header beside an authentic content",
      ({ payload, headers: copied }) => write(subjectOf("a"), payload, { ...copied, "Flotilla-Op": "delete" }),
    ],
    [
      "an authentic message on another subject",
      ({ payload, headers: copied }) => write(subjectOf("b"), payload, copied),
    ],
  ];
  for (const [name, forge] of forgeries)
    it(`sets aside ${name}, and the publisher's comparison heals it`, async () => {
      await using bus = await open();
      await using reader = await open();
      const publisher = publisherOn(bus);
      await publisher.synchronize([object("a", 1), object("b", 1)]);
      await using seen = read(reader);
      await until(() => seen.held.size === 2, soon("both objects"));
      await forge(await storedOf("a"));
      await until(() => places(reader).length === 1, soon("the forgery to be set aside"));
      assert.deepEqual(Object.fromEntries(seen.held), { a: 1, b: 1 });
      await using late = await open();
      await using seenLate = read(late);
      await until(() => seenLate.kinds.includes("caught-up"), soon("a late reader"));
      assert.equal(seenLate.held.size, 1, "one that starts now lacks what was written over, until it is repaired");
      assert.equal(await publisher.attest(), 1);
      await until(() => seenLate.held.size === 2 && places(reader).length === 0, soon("both to be healed"));
      assert.deepEqual(Object.fromEntries(seenLate.held), { a: 1, b: 1 });
    });

  it("does not take an old message for a new one, and the publisher's comparison replaces it", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize([object("a", 1)]);
    const old = await storedOf("a");
    await publisher.publish([object("a", 2)]);
    await using seen = read(reader);
    await until(() => seen.held.get("a") === 2, soon("the object"));
    await write(old.subject, old.payload, old.headers);
    await until(() => places(reader).length === 1, soon("the replay to be set aside"));
    assert.equal(seen.held.get("a"), 2);
    assert.equal(await publisher.attest(), 1);
    await until(() => places(reader).length === 0, soon("the repair"));
    await using fresh = await open();
    await using seenFresh = read(fresh);
    await until(() => seenFresh.held.get("a") === 2, soon("a fresh reader"));
  });

  it("accepts the marker of a publisher from that publisher only", async () => {
    await using reader = await open();
    await write("flotilla.v1.sync.c", JSON.stringify({ publisher: "c", epoch: "e", digests: {} }));
    await using seen = read(reader, ["c"]);
    await until(() => places(reader).includes("flotilla.v1.sync.c"), soon("the marker to be set aside"));
    assert.ok(!seen.kinds.includes("caught-up"));
    await using bus = await open();
    await publisherOn(bus).synchronize([object("a", 1)]);
    await until(() => seen.kinds.includes("caught-up") && seen.held.size === 1, soon("the true marker"));
  });

  it("publishes again what an earlier version wrote without codes, and deletes what is gone, while old readers go on", async () => {
    await using before = await openWithoutKey();
    const old = publisherOn(before);
    await old.synchronize([object("a", 1), object("b", 1), object("gone", 1)]);
    await using oldReader = read(before);
    await until(() => oldReader.held.size === 3, soon("the old reader"));
    await using reader = await open();
    await using seen = read(reader, ["c"]);
    await until(() => places(reader).length >= 3, soon("what has no codes to be set aside"));
    assert.ok(!seen.kinds.includes("caught-up"), "not ready with an empty mesh");
    await using bus = await open();
    const publisher = publisherOn(bus);
    assert.equal(await publisher.synchronize([object("a", 1), object("b", 2)]), 2);
    await until(() => seen.kinds.includes("caught-up"), soon("the new reader"));
    assert.deepEqual(Object.fromEntries(seen.held), { a: 1, b: 2 });
    await publisher.attest();
    await until(() => oldReader.held.size === 2 && places(reader).length === 0, soon("the delete"));
    assert.deepEqual(Object.fromEntries(oldReader.held), { a: 1, b: 2 });
  });

  it("gets messages again that were taken away", async () => {
    await using bus = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize([object("a", 1), object("b", 1)]);
    const manager = await stranger.jetstreamManager();
    await manager.streams.deleteMessage("FLOTILLA", (await storedOf("a")).sequence);
    assert.equal(await publisher.attest(), 1);
    assert.match(new TextDecoder().decode((await storedOf("a")).payload), /"n":1/);
  });

  it("refuses what was written with another key", async () => {
    await using other = await open(createSeal("another key"));
    await publisherOn(other).synchronize([object("a", 666)]);
    await using reader = await open();
    await using seen = read(reader);
    await until(() => seen.kinds.includes("caught-up"), soon("the reader"));
    assert.equal(seen.held.size, 0);
    assert.match(reader.setAside.list()[0]?.reason ?? "", /another key/);
  });

  it("writes over values in buckets that are not authentic, leases too", async () => {
    await using bus = await open();
    const values = await bus.keyValue("leases", { ttlMs: 60_000 });
    const store = (key: string, value: string, given = {}) => write(`$KV.flotilla-leases.${key}`, value, given);
    await store("lead", "a stranger");
    assert.equal(await values.get("lead"), undefined);
    assert.deepEqual(places(bus), ["leases/lead"]);
    const lease = new Lease({
      values,
      key: "lead",
      holder: "us",
      ttlMs: 60_000,
      nowMs: Date.now,
      wallClockMs: Date.now,
    });
    assert.ok(await lease.hold());
    assert.equal(String(Buffer.from((await values.get("lead"))?.value ?? [])), "us");
    assert.deepEqual(places(bus), []);
    await values.put("one", Buffer.from("1"));
    const kv = await stranger.jetstream().views.kv("flotilla-leases");
    assert.equal((await kv.get("one"))?.string(), "1", "the value itself is as before");
    await store("two", "1");
    assert.deepEqual(
      (await values.entries()).map(({ key }) => key),
      ["lead", "one"],
    );
    const heard: string[] = [];
    const ended = new AbortController();
    const watching = (async () => {
      for await (const { key } of values.watch(ended.signal)) heard.push(key);
    })();
    await store("one", "2");
    await values.put("three", Buffer.from("3"));
    await until(() => heard.includes("three"), soon("the watch"));
    assert.ok(!heard.includes("two"));
    await values.delete("three");
    assert.ok((await values.update("three", Buffer.from("4"), 0)) !== undefined, "over a deleted one");
    ended.abort();
    await watching;
  });
});
