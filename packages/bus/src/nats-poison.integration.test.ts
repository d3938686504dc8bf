/** Messages and values of foreign writers, over a real NATS server: they are set aside by name, and nothing else is. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { zstdCompressSync } from "node:zlib";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import { connect, headers, type NatsConnection } from "nats";
import { type Bus, connectBus, createPublisher, filters, lastChanges, readValue, subscribe } from "./index.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-poison-"));
const stop = new AbortController();
let server: RunningServer;
let stranger: NatsConnection;

const object = (name: string, spec: unknown): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};
const subjectOf = (name: string) => `flotilla.v1.config.VirtualService.shop.${name}`;
const open = (): Promise<Bus> => connectBus({ url: server.url, clientName: "test", log: noopLogger }, stop.signal);

async function poison(subject: string, payload: string | Uint8Array, given: Readonly<Record<string, string>> = {}) {
  const all = headers();
  for (const [name, value] of Object.entries(given)) all.set(name, value);
  await stranger.jetstream().publish(subject, payload, { headers: all });
}

function read(bus: Bus) {
  const held = new Map<string, unknown>();
  const done = new AbortController();
  let isCaughtUp = false;
  const ended = (async () => {
    const options = { bus, filter: filters.everything, afterSequence: 0, seal: undefined };
    for await (const item of subscribe(options, AbortSignal.any([stop.signal, done.signal]))) {
      if (item.kind === "caught-up") isCaughtUp = true;
      if (item.kind !== "group") continue;
      for (const change of item.group.changes)
        if (change.type === "config" && change.op === "put") held.set(change.key.name, change.value.spec);
    }
  })();
  const close = async () => {
    done.abort();
    await ended;
  };
  return { held, isCaughtUp: () => isCaughtUp, [Symbol.asyncDispose]: close };
}

const named = (bus: Bus): readonly string[] => bus.setAside.list().map(({ place }) => place.split(".").at(-1) ?? "");
const wellFormed = (name: string) => JSON.stringify(object(name, { x: 1 }));

const poisons: readonly (readonly [
  what: string,
  name: string,
  payload: string | Uint8Array,
  Record<string, string>?,
])[] = [
  ["no JSON", "p1", "{"],
  ["no UTF-8", "p2", Buffer.of(0xff, 0xfe)],
  ["JSON of another type", "p3", "[]"],
  ["a key that is no object", "p4", wellFormed("p4").replace(/"key":\{[^}]*\}/, '"key":7')],
  ["labels of another type", "p5", wellFormed("p5").replace('"labels":{}', '"labels":[1]')],
  ["a slash in a name", "p6", wellFormed("p6").replaceAll('"p6"', '"p/6"')],
  ["the change of another key", "p7", wellFormed("good")],
  ["a spec of 100,000 levels", "p8", wellFormed("p8").replace('{"x":1}', `${"[".repeat(1e5)}${"]".repeat(1e5)}`)],
  ["a number that is no count", "p9", wellFormed("p9"), { "Flotilla-Group-Size": "abc" }],
  ["a moment that no Date can hold", "p10", wellFormed("p10"), { "Flotilla-Event-Time": "1e300" }],
  // Valid JSON, but too large.
  [
    "300 MB in 30 kB",
    "p11",
    zstdCompressSync(Buffer.concat([Buffer.from(wellFormed("p11")), Buffer.alloc(3e8, " ")])),
    { "Flotilla-Packed": "zstd" },
  ],
  ["what is called sealed", "p12", "sealed", { "Flotilla-Packed": "zstd" }],
];

describe("poisoned values on NATS", () => {
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

  it("are set aside by name, the rest goes on, and the next good value heals each", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now });
    await publisher.synchronize([object("good", { n: 0 })]);
    await using seen = read(reader);
    await until(seen.isCaughtUp, { withinMs: 60_000, what: "the reader" });
    for (const [, name, payload, given] of poisons) await poison(subjectOf(name), payload, given);
    await publisher.publish([object("good", { n: 1 })]);
    await until(() => seen.held.get("good") !== undefined && (seen.held.get("good") as { n: number }).n === 1, {
      withinMs: 60_000,
      what: "the change after the poison",
    });
    assert.deepEqual([...seen.held.keys()], ["good"]);
    assert.deepEqual([...named(reader)].sort(), poisons.map(([, name]) => name).sort());
    await publisher.publish(poisons.map(([, name]) => object(name, { healed: true })));
    await until(() => named(reader).length === 0, { withinMs: 60_000, what: "all to be healed" });
    assert.equal(seen.held.size, 1 + poisons.length);
  });

  it("do not stop a start as the last values of their keys", async () => {
    await using bus = await open();
    for (const [, name, payload, given] of poisons) await poison(subjectOf(name), payload, given);
    await poison("flotilla.v1.sync.c", "{");
    await poison("flotilla.v1.horizon", "99999999999999");
    await poison("flotilla.v1.nothing.we.know", "{");
    await using reader = await open();
    await using seen = read(reader);
    await until(seen.isCaughtUp, { withinMs: 60_000, what: "the reader" });
    const publisher = createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now });
    await publisher.synchronize([object("good", { n: 1 })]);
    await until(() => seen.held.has("good"), { withinMs: 60_000, what: "the object" });
    const found: string[] = [];
    for await (const { change } of lastChanges({ bus: reader, filter: filters.config, seal: undefined }))
      if ("name" in change.key) found.push(change.key.name);
    assert.deepEqual(found, ["good"]);
  });

  it("with copied fingerprints are found by the digest check, and what was published is published again", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now });
    await publisher.synchronize([object("a", { n: 1 })]);
    const [stored] = await reader.lastValues(filters.config);
    assert.ok(stored);
    const { "Nats-Msg-Id": _, ...copied } = stored.headers;
    await poison(stored.subject, JSON.stringify(object("a", { n: 666 })), copied);
    assert.equal(await publisher.attest(), 1);
    const [now] = await reader.lastValues(filters.config);
    assert.match(new TextDecoder().decode(now?.payload), /"n":1/);
    assert.equal(await publisher.attest(), 0);
  });

  it("in a bucket are set aside, and the next good value heals them", async () => {
    await using bus = await open();
    const values = await bus.keyValue("reports");
    await values.put("one", Buffer.from("{"));
    const decode = (value: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(value));
    assert.equal(readValue(values, await values.get("one"), decode), undefined);
    assert.deepEqual(
      bus.setAside.list().map(({ place, count }) => [place, count]),
      [["reports/one", 1]],
    );
    assert.match(bus.setAside.summary() ?? "", /^1 ignored: reports\/one \(/);
    await values.put("one", Buffer.from("3"));
    assert.equal(readValue(values, await values.get("one"), decode), 3);
    assert.equal(bus.setAside.summary(), undefined);
  });

  it("keys that are too long are refused by name, and the next changes go on", async () => {
    await using bus = await open();
    const refused: string[] = [];
    const onRefused = (_: Change, reason: string) => void refused.push(reason);
    const options = { bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now, onRefused };
    const publisher = createPublisher(options);
    await publisher.synchronize([object("x".repeat(4_000), {}), object("a", { n: 1 })]);
    assert.deepEqual(refused, ["a key of 4039 bytes is more than the bus takes, 2000"]);
    await publisher.publish([object("b", { n: 1 }), object("y".repeat(4_000), {})]);
    await using reader = await open();
    await using seen = read(reader);
    await until(() => seen.held.size === 2, { withinMs: 60_000, what: "both objects" });
    // Withdrawn with its object: nothing is left to be sent.
    assert.equal(await publisher.synchronize([object("a", { n: 1 }), object("b", { n: 1 })]), 0);
  });
});
