/** Publisher and subscriber over a real NATS server, and what its crashes, pauses and losses do to them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import { connect } from "nats";
import {
  type Bus,
  connectBus,
  connectWithHealth,
  createPublisher,
  filters,
  type SubscriberItem,
  subscribe,
} from "./index.ts";

let directory: string;
let server: RunningServer;
const stop = new AbortController();

const open = (): Promise<Bus> => connectBus({ url: server.url, clientName: "test", log: noopLogger }, stop.signal);
const start = (port?: number) => startNats({ directory, env: process.env, ...(port !== undefined && { port }) });
const publisherOn = (bus: Bus, publisher = "c") =>
  createPublisher({ bus, publisher, seal: undefined, log: noopLogger, nowMs: Date.now });

const config = (name: string, spec: unknown): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};

/** The state of a reader of everything, and the items that led to it. */
function read(bus: Bus, publishers: readonly string[] = []) {
  const held = new Map<string, unknown>();
  const items: SubscriberItem[] = [];
  const options = { bus, filter: filters.everything, afterSequence: 0, publishers, seal: undefined, log: noopLogger };
  const done = new AbortController();
  const ended = (async () => {
    for await (const item of subscribe(options, AbortSignal.any([stop.signal, done.signal]))) {
      items.push(item);
      if (item.kind === "reset") held.clear();
      if (item.kind !== "group") continue;
      for (const change of item.group.changes) {
        const name = "name" in change.key ? change.key.name : "";
        if (change.op === "delete") held.delete(name);
        else if (change.type === "config") held.set(name, change.value.spec);
      }
    }
  })();
  const close = async () => {
    done.abort();
    await ended;
  };
  const kinds = () => items.map(({ kind }) => kind);
  return { held, items, kinds, [Symbol.asyncDispose]: close };
}

describe("bus over NATS with faults", () => {
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "flotilla-bus-"));
  });
  beforeEach(async () => {
    if (server !== undefined) await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
    server = await start();
  });
  after(async () => {
    stop.abort();
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("a stream that is lost with its server is published again, without what was deleted meanwhile", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", { x: 1 }), config("b", { x: 1 })]);
    await using seen = read(reader, ["c"]);
    await until(() => seen.held.size === 2, { withinMs: 60_000, what: "both objects" });
    const epoch = bus.epoch;

    await server.kill();
    rmSync(directory, { recursive: true, force: true });
    const change = publisher.publish([config("b", { x: 2 })]);
    server = await start(server.port);
    await change;
    await until(() => seen.kinds().filter((kind) => kind === "caught-up").length === 2, {
      withinMs: 60_000,
      what: "everything to be published again",
    });
    assert.deepEqual(Object.fromEntries(seen.held), { a: { x: 1 }, b: { x: 2 } });
    const reported = seen.kinds().slice(seen.kinds().indexOf("reset"));
    assert.equal(reported.at(-1), "caught-up", "caught up only after the publisher has published all");
    assert.ok(reported.indexOf("synced") > 0);
    assert.notEqual(bus.epoch, epoch);
  });

  it("a stream that is removed from a running server is made anew", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", { x: 1 })]);
    await using seen = read(reader);
    await until(() => seen.held.size === 1, { withinMs: 60_000, what: "the object" });
    const admin = await connect({ servers: server.url });
    await (await admin.jetstreamManager()).streams.delete("FLOTILLA");
    await admin.close();
    await publisher.publish([config("b", { x: 1 })]);
    await until(() => seen.kinds().includes("reset") && seen.held.size === 2, {
      withinMs: 60_000,
      what: "both objects after the reset",
    });
  });

  it("values that are removed from a running server, or replaced there, are found among those that are not read", async () => {
    await using bus = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize(["a", "b", "c"].map((name) => config(name, 1)));
    for (let i = 0; i < 2; i++) assert.equal(await publisher.attest(), 0);
    const subject = (name: string) => `${filters.config.slice(0, -1)}VirtualService.shop.${name}`;
    const connection = await connect({ servers: server.url });
    try {
      const { streams } = await connection.jetstreamManager();
      await streams.deleteMessage("FLOTILLA", await bus.lastSequence(subject("a")), false);
      await connection.jetstream().publish(subject("b"), new TextEncoder().encode("{}"));
    } finally {
      await connection.close();
    }
    assert.equal(await publisher.attest(), 2);
    assert.equal(await publisher.attest(), 0);
    assert.equal(await bus.count(filters.config), 3);
    await using reader = read(bus, ["c"]);
    await until(() => reader.kinds().includes("synced"), { withinMs: 60_000, what: "all values" });
    assert.deepEqual([...reader.held].sort(), [
      ["a", 1],
      ["b", 1],
      ["c", 1],
    ]);
  });

  it("groups stay whole when the server is killed again and again", async () => {
    await using bus = await open();
    await using reader = await open();
    const publisher = publisherOn(bus);
    await publisher.synchronize([]);
    await using seen = read(reader);
    await until(() => seen.kinds().includes("caught-up"), { withinMs: 60_000, what: "the reader" });
    const publishing = (async () => {
      for (let n = 0; n < 60; n++) await publisher.publish([1, 2, 3, 4, 5].map((k) => config(`${n}-${k}`, { n })));
    })();
    for (let crash = 0; crash < 3; crash++) {
      const reached = seen.held.size + 25;
      await until(() => seen.held.size >= Math.min(reached, 300), { withinMs: 60_000, what: "some groups" });
      await server.kill();
      server = await start(server.port);
    }
    await publishing;
    await until(() => seen.held.size === 300, { withinMs: 60_000, what: "all groups" });
    const sizes = seen.items.flatMap((item) => (item.kind === "group" ? item.group.changes.length : []));
    assert.deepEqual(sizes, Array(60).fill(5));
    const positions = seen.items.flatMap((item) => (item.kind === "group" ? item.group.position : []));
    assert.deepEqual(
      positions,
      [...positions].sort((a, b) => a - b),
    );
  });

  it("a server that stands still for a while loses nothing", async () => {
    await using bus = await open();
    await using reader = await open();
    await using seen = read(reader);
    const publisher = publisherOn(bus);
    await publisher.synchronize([config("a", { x: 1 })]);
    process.kill(server.pid, "SIGSTOP");
    const change = publisher.publish([config("a", { x: 2 })]);
    // Longer than heartbeats may stay away, so that the reader begins again.
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    process.kill(server.pid, "SIGCONT");
    assert.equal(await change, 1);
    await until(() => JSON.stringify(seen.held.get("a")) === '{"x":2}', { withinMs: 60_000, what: "the change" });
    assert.ok(!seen.kinds().includes("reset"));
  });

  it("a late reader of 10,000 keys has them soon, a restarted publisher publishes none of them", async (t) => {
    await using bus = await open();
    const many = Array.from({ length: 10_000 }, (_, i) => config(`vs-${i}`, { hosts: [`host-${i}.example.com`], i }));
    const began = performance.now();
    await publisherOn(bus).synchronize(many);
    const published = performance.now();
    await using reader = await open();
    await using seen = read(reader);
    await until(() => seen.kinds().includes("caught-up"), { withinMs: 60_000, what: "all keys", everyMs: 2 });
    const caughtUp = performance.now();
    assert.equal(seen.held.size, 10_000);
    assert.equal(await publisherOn(bus).synchronize(many), 0);
    const compared = performance.now();
    const ms = (from: number, to: number) => Math.round(to - from);
    t.diagnostic(
      `10,000 keys: published in ${ms(began, published)} ms, read in ${ms(published, caughtUp)} ms, compared after a restart in ${ms(caughtUp, compared)} ms`,
    );
  });

  it("a service that is stopped while the server is away does not wait for it", async () => {
    const ended = new AbortController();
    const health = { setCondition: () => undefined };
    const options = { url: server.url, clientName: "test", log: noopLogger, health, metrics: createMetrics() };
    await using bus = await connectWithHealth(options, ended.signal);
    await server.kill();
    await until(() => !bus.state.connected, { withinMs: 10_000, what: "the loss to be noticed" });
    const publishing = bus.publish([{ subject: "flotilla.v1.a", payload: Buffer.from("1") }]);
    ended.abort();
    await assert.rejects(publishing, { code: "BUS_CLOSED" });
  });
});
