import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { connectEmbedded } from "./embedded-bus.ts";
import { createPublisher, createSeal, filters, type SubscriberItem, subscribe } from "./index.ts";

const seal = createSeal("a key for tests");
const config = (name: string, spec: unknown, kind = "VirtualService"): Change => {
  const key = { kind, namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};

function open(name: string) {
  const bus = connectEmbedded(name, () => 1_000);
  const publisher = (id = "config-controller") =>
    createPublisher({ bus, publisher: id, seal, log: noopLogger, nowMs: () => 1_000 });
  return { bus, publisher };
}

async function take(
  bus: ReturnType<typeof connectEmbedded>,
  until: (items: readonly SubscriberItem[]) => boolean,
  afterSequence = 0,
) {
  const stop = new AbortController();
  const items: SubscriberItem[] = [];
  for await (const item of subscribe({ bus, filter: filters.everything, afterSequence, seal }, stop.signal)) {
    items.push(item);
    if (until(items)) stop.abort();
  }
  return items;
}

describe("publisher and subscriber", () => {
  it("a restart with nothing changed publishes nothing, and a vanished object leaves a tombstone", async () => {
    const { bus, publisher } = open("restart");
    assert.equal(await publisher().synchronize([config("a", { x: 1 }), config("b", {})]), 2);
    assert.equal(await publisher().synchronize([config("a", { x: 1 }), config("b", {})]), 0);
    assert.equal(await publisher().synchronize([config("a", { x: 2 })]), 2);
    const items = await take(bus, (seen) => seen.some(({ kind }) => kind === "caught-up"));
    const changes = items.flatMap((item) => (item.kind === "group" ? item.group.changes : []));
    assert.deepEqual(
      changes.map((change) => [change.op, "name" in change.key ? change.key.name : ""]),
      [
        ["put", "a"],
        ["delete", "b"],
      ],
    );
  });

  it("leaves the keys of other publishers alone", async () => {
    const { publisher } = open("owners");
    await publisher("one").synchronize([config("a", {})]);
    assert.equal(await publisher("two").synchronize([config("b", {})]), 1);
    assert.equal(await publisher("one").synchronize([config("a", {})]), 0);
  });

  it("changes published together arrive together, with their cause", async () => {
    const { bus, publisher } = open("groups");
    const one = publisher();
    await one.synchronize([]);
    const seen = take(bus, (items) => items.filter(({ kind }) => kind === "group").length === 2);
    await new Promise((resolve) => setImmediate(resolve));
    await one.publish([config("a", {}), config("b", {})], { eventTimeMs: 7, urgent: true, source: "file:möbel" });
    await one.publish([config("c", {})]);
    const groups = (await seen).flatMap((item) => (item.kind === "group" ? [item.group] : []));
    assert.deepEqual(
      groups.map(({ changes }) => changes.length),
      [2, 1],
    );
    assert.equal(groups[0]?.cause.eventTimeMs, 7);
    assert.equal(groups[0]?.cause.urgent, true);
    assert.equal(groups[0]?.cause.source, "file:möbel");
    assert.ok((groups[1]?.position ?? 0) > (groups[0]?.position ?? 0));
  });

  it("says when a publisher has published everything, after what it published", async () => {
    const { bus, publisher } = open("sync");
    await publisher().synchronize([config("a", {})]);
    const items = await take(bus, (seen) => seen.some(({ kind }) => kind === "synced"));
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ["group", "synced"],
    );
  });

  it("secrets rest sealed, and are recognised as unchanged", async () => {
    const { bus, publisher } = open("secrets");
    const secret = config("key", { data: { "tls.key": "very secret" } }, "Secret");
    await publisher().synchronize([secret]);
    assert.equal(await publisher().synchronize([secret]), 0);
    const [stored] = await bus.lastValues(filters.config);
    assert.ok(!Buffer.from(stored?.payload ?? []).includes("very secret"));
    const items = await take(bus, (seen) => seen.some(({ kind }) => kind === "group"));
    assert.deepEqual(
      items.flatMap((item) => (item.kind === "group" ? item.group.changes : [])),
      [secret],
    );
  });

  it("a group is complete without the secrets that the reader has no key for", async () => {
    const { bus, publisher } = open("keyless");
    const one = publisher();
    await one.synchronize([]);
    const stop = new AbortController();
    const items = subscribe({ bus, filter: filters.config, afterSequence: 0, seal: undefined }, stop.signal);
    assert.equal((await items.next()).value?.kind, "caught-up");
    await one.publish([config("only", {}, "Secret")]);
    await one.publish([config("a", {}), config("hidden", {}, "Secret")]);
    const { value } = await items.next();
    assert.deepEqual(value?.kind === "group" ? value.group.changes.map((change: Change) => change.key) : [], [
      config("a", {}).key,
    ]);
    stop.abort();
    await items.return(undefined);
  });

  it("one unreadable message stops nothing", async () => {
    const { bus, publisher } = open("garbage");
    await bus.publish([{ subject: "flotilla.v1.config.X.y.z", payload: new TextEncoder().encode("{") }]);
    await publisher().synchronize([config("a", {})]);
    const items = await take(bus, (seen) => seen.some(({ kind }) => kind === "synced"));
    assert.equal(items.filter(({ kind }) => kind === "group").length, 1);
  });

  it("is caught up when those who matter have published all; until then news comes nevertheless", async () => {
    const { bus, publisher } = open("awaiting");
    await publisher("one").synchronize([config("a", {})]);
    const stop = new AbortController();
    const publishers = ["one", "two"];
    const options = { bus, filter: filters.config, afterSequence: 0, publishers, seal };
    const items = subscribe(options, stop.signal);
    const next = async () => (await items.next()).value?.kind;
    assert.deepEqual([await next(), await next()], ["group", "synced"]);
    const waiting = next();
    await publisher("one").publish([config("b", {})]);
    assert.equal(await waiting, "group");
    await publisher("two").synchronize([config("c", {})]);
    assert.deepEqual([await next(), await next(), await next()], ["group", "synced", "caught-up"]);
    stop.abort();
    await items.return(undefined);
  });
});
