/** The store on a real Redis (or Valkey), with damage done to it and with the server gone. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startRedis } from "@flotilla/servers";
import { Redis } from "ioredis";
import { type Mac, type OpenOptions, openStore, type SnapshotChange, type SnapshotStore, StateError } from "./index.ts";
import { storeConformance } from "./store.conformance.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-state-"));
let server: RunningServer;
const lockMs = 1_000;

async function open(more: Partial<OpenOptions> = {}): Promise<SnapshotStore> {
  const store = openStore({ url: server.url, log: noopLogger, lockMs, ...more });
  await until(() => store.state.connected, { withinMs: 60_000, what: "the connection" });
  return store;
}

before(async () => {
  server = await startRedis({ directory, env: process.env });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe("store in Redis", () => {
  storeConformance(() => open());

  it("refuses a damaged snapshot and one of another form by name", async () => {
    await using store = await open();
    await store.claim();
    await store.write({ position: 20, entries: new Map([["k", new TextEncoder().encode("v")]]) });
    await using admin = disposable(new Redis(server.url));
    const { client: redis } = admin;
    await redis.hset("flotilla:v1:snapshot:entries", "k", Buffer.concat([Buffer.of(0), Buffer.from("w")]));
    await assert.rejects(store.load(), (error) => error instanceof StateError && error.code === "STATE_DAMAGED");
    await redis.hset("flotilla:v1:snapshot:about", "format", "0");
    await assert.rejects(
      store.load(),
      (error) => error instanceof StateError && error.code === "STATE_FORMAT" && /form 0/.test(error.message),
    );
    // A new writer replaces whatever differs, which is everything it cannot read.
    const claimed = await store.claim();
    const gone = [...(claimed?.stored.keys() ?? [])].map((key) => [key, undefined] as const);
    await store.write({ position: 21, entries: new Map([...gone, ["k", new TextEncoder().encode("v")]]) });
    assert.equal((await store.load())?.position, 21);
  });

  it("a position that is no number, or another one, is refused by name, and the next writer writes a right one", async () => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    await using redis = disposable(new Redis(server.url));
    for (const position of ["abc", "7", "1e3", "-1"]) {
      assert.ok(await store.write({ position: 20, entries: new Map([["k", new TextEncoder().encode("v")]]) }));
      await redis.client.hset("flotilla:v1:snapshot:about", "position", position);
      await assert.rejects(store.load(), { code: "STATE_DAMAGED" });
      assert.ok(await store.write({ position: 21, entries: new Map() }));
      assert.equal((await store.load())?.position, 21);
    }
  });

  it("an entry whose content was exchanged is set aside by name, and the rest is loaded", async () => {
    const noted: string[] = [];
    const unreadable = { note: (place: string) => void noted.push(place), heal: () => undefined };
    await using store = await open({ unreadable });
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    const entries = new Map(["good", "bad", "bomb"].map((key) => [key, new TextEncoder().encode(key)] as const));
    assert.ok(await store.write({ position: 21, entries }));
    await using redis = disposable(new Redis(server.url));
    const exchange = async (key: string, content: Buffer) => {
      const stored = await redis.client.hgetBuffer("flotilla:v1:snapshot:entries", key);
      const tag = stored?.subarray(0, 16) ?? Buffer.alloc(0);
      await redis.client.hset("flotilla:v1:snapshot:entries", key, Buffer.concat([tag, content]));
    };
    await exchange("bad", Buffer.concat([Buffer.of(0), Buffer.from("forged")]));
    await exchange("bomb", Buffer.concat([Buffer.of(1), zstdCompressSync(Buffer.alloc(1e8))]));
    const snapshot = await store.load();
    assert.deepEqual([...(snapshot?.setAside ?? [])].sort(), ["bad", "bomb"]);
    assert.deepEqual(noted.sort(), ["snapshot bad", "snapshot bomb"]);
    assert.ok(snapshot?.entries.has("good") === true && !snapshot.entries.has("bad"));
    const claimed = await store.claim();
    for (const [key, value] of entries)
      assert.equal(claimed?.stored.get(key) === claimed?.tagOf(key, value), key === "good");
    assert.ok(
      await store.write({ position: 21, entries: new Map([...entries.keys()].map((key) => [key, undefined])) }),
    );
  });

  const [entries, about, writer] = ["entries", "about", "writer"].map((name) => `flotilla:v1:snapshot:${name}`) as [
    string,
    string,
    string,
  ];
  const many = "for i = 1, 150000 do redis.call('HSET', KEYS[1], 'garbage ' .. i, 'x') end";
  const foreign: readonly (readonly [string, "damaged" | "whole", ...(readonly (string | number | Buffer)[])[]])[] = [
    ["a text in place of the entries", "damaged", ["DEL", entries], ["SET", entries, "garbage"]],
    ["a list in place of what is said about them", "damaged", ["DEL", about], ["LPUSH", about, "garbage"]],
    ["a set in place of the lock", "whole", ["DEL", writer], ["SADD", writer, "garbage"]],
    ["a lock without an owner and without an end", "whole", ["SET", writer, "nobody"]],
    ["a lock without an owner that ends in a year", "whole", ["SET", writer, "nobody", "EX", 31_536_000]],
    ["the lock of the writer, without an end", "whole", ["PERSIST", writer]],
    ["an entry of 64 MB", "damaged", ["HSET", entries, "huge", Buffer.alloc(64e6, 7)]],
    ["150,000 entries", "damaged", ["EVAL", many, 1, entries]],
  ];
  for (const [name, state, ...commands] of foreign)
    it(`${name}, by a stranger, is not loaded and does not stop the next writer`, async () => {
      const change = (position: number, text: string) => ({
        position,
        entries: new Map([["k", new TextEncoder().encode(text)]]),
      });
      await using first = await open();
      await until(() => first.claim(), { withinMs: 60_000, what: "the lock" });
      await write(first, change(21, "v"));
      await using redis = disposable(new Redis(server.url));
      for (const [command, ...words] of commands) await redis.client.call(String(command), ...words);
      if (state === "damaged") await assert.rejects(first.load(), { code: "STATE_DAMAGED" });
      else assert.equal((await first.load())?.position, 21);
      // Reading so much takes its time on a busy machine.
      await using next = await open(/^an entry|^150/.test(name) ? { lockMs: 60_000 } : {});
      const claimed = await until(() => next.claim(), { withinMs: 60_000, what: "the lock" });
      const gone = [...claimed.stored.keys()].map((key) => [key, undefined] as const);
      const { entries: put } = change(22, "w");
      assert.ok(await next.write({ position: 22, entries: new Map([...gone, ...put]) }));
      const loaded = await next.load();
      assert.deepEqual([loaded?.position, [...(loaded?.entries.keys() ?? [])]], [22, ["k"]]);
    });

  it("a record of a replica of another type is as none, and the others are read", async () => {
    await using store = await open();
    await using redis = disposable(new Redis(server.url));
    const ids = async () => {
      const all = await store.replicas();
      return ["honest", "other", "third"].filter((id) => all.has(id));
    };
    const report = { summary: { a: 1 }, parts: new Map([["part", 1]]), isWhole: true };
    await store.putReplica("honest", report, 60_000);
    await redis.client.set("flotilla:v1:replica:other", "1");
    await redis.client.set("flotilla:v1:replica-parts:other", "garbage");
    await redis.client.lpush("flotilla:v1:replica:third", "garbage");
    assert.deepEqual(await ids(), ["honest", "other"]);
    assert.deepEqual((await store.replicaParts()).get("honest"), new Map([["part", 1]]));
    assert.deepEqual((await store.replicaParts()).get("other"), new Map());
    await store.putReplica("other", report, 60_000);
    await store.putReplica("third", report, 60_000);
    assert.deepEqual(await ids(), ["honest", "other", "third"]);
    assert.deepEqual((await store.replicaParts()).get("other"), new Map([["part", 1]]));
    for (const id of ["honest", "other", "third"]) await store.removeReplica(id);
  });

  it("entries that were taken away are noticed by the next write", async () => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    assert.ok(await store.write({ position: 21, entries: new Map([["taken", new TextEncoder().encode("v")]]) }));
    await using redis = disposable(new Redis(server.url));
    await redis.client.hdel("flotilla:v1:snapshot:entries", "taken");
    await assert.rejects(store.load(), { code: "STATE_DAMAGED" });
    assert.equal(await store.write({ position: 21, entries: new Map() }), false);
    assert.equal((await store.claim())?.stored.has("taken"), false);
    assert.ok(await store.write({ position: 21, entries: new Map() }));
  });

  it("values written without the key are refused where one is set", async () => {
    const macOf =
      (key: string): Mac =>
      (purpose, parts) => {
        const hmac = createHmac("sha256", `${key} ${purpose}`);
        for (const part of parts) hmac.update(`${Buffer.byteLength(part)} `).update(part);
        return hmac.digest();
      };
    await using honest = await open({ mac: macOf("ours") });
    const entries = new Map([["k", new TextEncoder().encode("v")]]);
    for (const mac of [macOf("theirs"), undefined]) {
      await using stranger = await open({ mac });
      await until(() => stranger.claim(), { withinMs: 60_000, what: "the lock" });
      assert.ok(await stranger.write({ position: 99_999, entries }));
      await assert.rejects(honest.load(), { code: "STATE_DAMAGED" });
    }
    const claimed = await until(() => honest.claim(), { withinMs: 60_000, what: "the lock" });
    assert.notEqual(claimed.stored.get("k"), claimed.tagOf("k", new TextEncoder().encode("v")));
    const gone = [...claimed.stored.keys()].map((key) => [key, undefined] as const);
    assert.ok(await honest.write({ position: 21, entries: new Map([...gone, ...entries]) }));
    assert.equal((await honest.load())?.position, 21);
    assert.ok(await honest.write({ position: 21, entries: new Map([["k", undefined]]) }));
    await using plain = await open();
    await honest[Symbol.asyncDispose]();
    await until(() => plain.claim(), { withinMs: 60_000, what: "the lock" });
    assert.ok(await plain.write({ position: 21, entries: new Map() }));
  });

  it("says that Redis is gone, and goes on when it is back", async () => {
    await using store = await open();
    await server.kill();
    await until(() => !store.state.connected, { withinMs: 60_000, what: "the loss of the connection" });
    await assert.rejects(store.load(), { code: "STATE_AWAY" });
    server = await startRedis({ directory, env: process.env, port: server.port });
    await until(() => store.state.connected, { withinMs: 60_000, what: "the connection" });
    // Where its disk is slow, Redis writes its file up to two seconds late: the last write of the tests above (21) or one before it (22).
    assert.ok([21, 22].includes((await store.load())?.position ?? 0));
  });

  it("a snapshot is whole whenever it is read", async () => {
    await using writer = await open();
    await using reader = await open();
    await until(() => writer.claim(), { withinMs: 60_000, what: "the lock" });
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; n < 300; n++) {
        const entries = new Map([1, 2, 3].map((k) => [`pair-${k}`, new TextEncoder().encode(`${n}`)]));
        assert.ok(await writer.write({ position: 1_000 + n, entries }));
      }
      isWriting = false;
    })();
    for (let reads = 0; isWriting || reads < 10; reads++) {
      const snapshot = await reader.load();
      const values = [1, 2, 3].map((k) => new TextDecoder().decode(snapshot?.entries.get(`pair-${k}`)));
      if ((snapshot?.position ?? 0) >= 1_000) assert.equal(new Set(values).size, 1);
    }
    await writing;
  });

  it("a writer notices that the store has lost what it wrote, and a new claim repairs it", async () => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    const value = new TextEncoder().encode("v");
    assert.ok(
      await store.write({
        position: 2_000,
        entries: new Map([
          ["kept", value],
          ["lost", value],
        ]),
      }),
    );
    await using redis = disposable(new Redis(server.url));
    // State of a server that was killed before its last writes were on the disk.
    await redis.client.hdel("flotilla:v1:snapshot:entries", "lost");
    await redis.client.hset("flotilla:v1:snapshot:about", "checksum", "00", "position", "1999");
    assert.equal(await store.write({ position: 2_001, entries: new Map() }), false);
    const claimed = await store.claim();
    assert.equal(claimed?.stored.has("lost"), false);
    assert.ok(await store.write({ position: 2_001, entries: new Map([["lost", value]]) }));
    assert.deepEqual((await store.load())?.entries.get("lost"), Buffer.from(value));
  });

  it("10,000 entries are loaded soon, ten changed ones are written at once", async (t) => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    const body = JSON.stringify({ hosts: ["a.example.com"], http: [{ route: [{ destination: { host: "b" } }] }] });
    const entry = (i: number) => new TextEncoder().encode(`${i} ${body.repeat(10)}`);
    const many = new Map(Array.from({ length: 10_000 }, (_, i) => [`config VirtualService/shop/vs-${i}`, entry(i)]));
    const began = performance.now();
    await write(store, { position: 3_000, entries: many });
    const written = performance.now();
    const few = new Map(Array.from({ length: 10 }, (_, i) => [`config VirtualService/shop/vs-${i}`, entry(-i)]));
    await write(store, { position: 3_001, entries: few });
    const changed = performance.now();
    const loaded = await store.load();
    const ended = performance.now();
    assert.ok((loaded?.entries.size ?? 0) >= 10_000);
    const ms = (from: number, to: number) => Math.round(to - from);
    t.diagnostic(
      `10,000 entries of 1 kB: written in ${ms(began, written)} ms, ten changed in ${ms(written, changed)} ms, loaded in ${ms(changed, ended)} ms`,
    );
  });

  it("a crash in the middle of writing leaves a snapshot that can be read and written", async () => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    let written = 0;
    const writing = (async () => {
      for (let n = 1; n < 100_000; n++) {
        const change = { position: 4_000 + n, entries: new Map([[`crash-${n % 50}`, Buffer.from(`${n}`)]]) };
        // On a busy machine the lock may expire: then it is claimed again, as a writer does.
        if (await store.write(change)) written++;
        else await store.claim();
      }
    })();
    // Counted here: reading the whole snapshot again and again would leave no time for writing it.
    await until(() => written > 50, { withinMs: 60_000, what: "some writes" });
    // Listened to before the crash: the refusal comes while the server is still ending.
    const refused = assert.rejects(writing, { code: "STATE_AWAY" });
    await server.kill();
    await refused;
    server = await startRedis({ directory, env: process.env, port: server.port });
    await until(() => store.state.connected, { withinMs: 60_000, what: "the connection" });
    // The server may lose what it had not put on the disk, even all of it; the rest is one state, the position and its entry.
    const left = await store.load();
    const last = (left?.position ?? 0) - 4_000;
    const entry = left?.entries.get(`crash-${last % 50}`);
    assert.equal(entry && new TextDecoder().decode(entry), last > 0 ? `${last}` : undefined);
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    await write(store, { position: 20_000, entries: new Map([["after", Buffer.from("1")]]) });
    assert.equal((await store.load())?.position, 20_000);
  });
});

/** On a busy machine the lock may expire while much is packed: then it is claimed again, as a writer does. */
function write(store: SnapshotStore, change: SnapshotChange): Promise<unknown> {
  const attempt = async () => (await store.write(change)) || (await store.claim().then(() => false));
  return until(attempt, { withinMs: 60_000, what: "the snapshot to be written" });
}

function disposable(client: Redis) {
  return { client, [Symbol.asyncDispose]: async () => client.disconnect() };
}
