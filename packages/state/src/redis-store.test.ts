/** The store over a Redis in memory, with damage done to it and with the server gone. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createLogger, until } from "@flotilla/runtime";
import { type OpenOptions, openStore, type SnapshotStore, StateError, type StoreState } from "./index.ts";
import { keys } from "./redis-scripts.ts";
import { type RedisInMemory, startRedisInMemory } from "./redis-server.fixture.ts";
import { storeConformance } from "./store.conformance.ts";

let server: RedisInMemory;
const lines: string[] = [];
const log = createLogger("state", "info", {
  write: (line) => {
    const { level, msg, reason } = JSON.parse(line);
    lines.push([level, msg, reason].filter((part) => part !== undefined).join(" "));
  },
});
const bytes = (text: string) => new TextEncoder().encode(text);
const soon = (what: string) => ({ withinMs: 60_000, what });

async function open(more: Partial<OpenOptions> = {}): Promise<SnapshotStore> {
  const store = openStore({ url: server.url, log, lockMs: 1_000, ...more });
  await until(() => store.state.connected, soon("the connection"));
  return store;
}

describe("store over Redis in memory", () => {
  before(async () => {
    server = await startRedisInMemory();
  });
  after(() => server[Symbol.asyncDispose]());
  storeConformance(() => open());
});

describe("a store in Redis", () => {
  let store: SnapshotStore;
  const noted: string[] = [];
  const healed: string[] = [];

  beforeEach(async () => {
    for (const list of [noted, healed, lines]) list.length = 0;
    server = await startRedisInMemory();
    const unreadable = {
      note: (place: string) => void noted.push(place),
      heal: (place: string) => void healed.push(place),
    };
    store = await open({ unreadable, lockMs: 60_000 });
  });
  afterEach(async () => {
    await store[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const hash = (key: string) => {
    const value = server.held.get(key)?.value;
    assert.ok(value instanceof Map);
    return value;
  };
  const written = async () => {
    assert.ok(await store.claim());
    assert.ok(
      await store.write({
        position: 20,
        epoch: "e",
        mark: "20/1",
        entries: new Map([
          ["a", bytes("1")],
          ["b", bytes("2")],
        ]),
      }),
    );
  };
  const setAbout = (field: string, text: string) => hash(keys.about).set(field, Buffer.from(text));

  const damages: readonly (readonly [name: string, damage: () => void, code: string, message: RegExp])[] = [
    [
      "an entry is missing",
      () => hash(keys.entries).delete("a"),
      "STATE_DAMAGED",
      /differ from those that its writer left/,
    ],
    [
      "another entry stands there",
      () => hash(keys.entries).set("c", hash(keys.entries).get("a") as Buffer),
      "STATE_DAMAGED",
      /differ from/,
    ],
    [
      "the position is another",
      () => setAbout("position", "21"),
      "STATE_DAMAGED",
      /differ from those that its writer left/,
    ],
    ["the epoch is another", () => setAbout("epoch", "f"), "STATE_DAMAGED", /differ from those that its writer left/],
    ["the mark is another", () => setAbout("mark", "20/2"), "STATE_DAMAGED", /differ from those that its writer left/],
    ["the form is another", () => setAbout("format", "3"), "STATE_FORMAT", /has form 3, this version reads form \d/],
    [
      "the entries are a text",
      () => server.held.set(keys.entries, { value: Buffer.from("x"), untilMs: Number.POSITIVE_INFINITY }),
      "STATE_DAMAGED",
      /the snapshot is of another type/,
    ],
  ];
  for (const [name, damage, code, message] of damages)
    it(`is not loaded where ${name}, and the next writer replaces it`, async () => {
      await written();
      damage();
      await assert.rejects(
        store.load(),
        (error) => error instanceof StateError && error.code === code && message.test(error.message),
      );
      const claimed = await store.claim();
      const gone = [...(claimed?.stored.keys() ?? [])].map((key) => [key, undefined] as const);
      assert.ok(await store.write({ position: 22, entries: new Map([...gone, ["k", bytes("v")]]) }));
      const { entries, ...place } = (await store.load()) ?? {};
      assert.deepEqual([place, [...(entries?.keys() ?? [])]], [{ position: 22, setAside: [] }, ["k"]]);
      assert.equal(lines.includes("warn snapshot restarted"), name === "the entries are a text");
    });

  it("sets an entry aside whose content was exchanged, loads the rest, and has it written anew", async () => {
    await written();
    const tagged = hash(keys.entries).get("a") ?? Buffer.alloc(0);
    hash(keys.entries).set("a", Buffer.concat([tagged.subarray(0, 16), Buffer.of(0), Buffer.from("forged")]));
    const { entries, ...place } = (await store.load()) ?? {};
    assert.deepEqual(place, { position: 20, epoch: "e", mark: "20/1", setAside: ["a"] });
    assert.deepEqual(
      [...(entries ?? [])].map(([key, value]) => [key, Buffer.from(value).toString()]),
      [["b", "2"]],
    );
    assert.deepEqual([noted, healed], [["snapshot a"], ["snapshot b"]]);
    const claim = await store.claim();
    assert.equal(claim?.stored.get("a"), "f".repeat(32));
    assert.equal(claim?.stored.get("b"), claim?.tagOf("b", bytes("2")));
  });

  it("replaces all entries of another form", async () => {
    await written();
    setAbout("format", "3");
    const claim = await store.claim();
    assert.deepEqual(
      [...(claim?.stored ?? [])],
      [
        ["a", "f".repeat(32)],
        ["b", "f".repeat(32)],
      ],
    );
  });

  it("is written by no replica whose lock is gone, or whose snapshot has changed meanwhile", async () => {
    await written();
    hash(keys.entries).delete("a");
    assert.equal(await store.write({ position: 21, entries: new Map() }), false);
    assert.ok(await store.claim());
    assert.ok(await store.write({ position: 21, entries: new Map() }));
    setAbout("checksum", "00");
    assert.equal(await store.write({ position: 22, entries: new Map() }), false);
    assert.ok(await store.claim());
    server.held.delete(keys.writer);
    assert.equal(await store.write({ position: 22, entries: new Map() }), false);
  });

  it("takes reports of replicas that it can read, from more than one page of keys", async () => {
    const report = (n: number) => ({ summary: { n }, parts: new Map([["part", n]]), isWhole: true });
    for (const n of [1, 2, 3, 4, 5]) await store.putReplica(`r${n}`, report(n), 60_000);
    const text = (value: string) => ({ value: Buffer.from(value), untilMs: Number.POSITIVE_INFINITY });
    server.held.set(keys.replica("r2"), text("no json"));
    server.held.set(keys.parts("r3"), text("no hash"));
    hash(keys.parts("r4")).set("bad", Buffer.from("no json"));
    assert.deepEqual(
      [...(await store.replicas())],
      [1, 3, 4, 5].map((n) => [`r${n}`, { n }]),
    );
    const parts = [...(await store.replicaParts())].map(([id, of]) => [id, Object.fromEntries(of)]);
    assert.deepEqual(parts, [
      ["r1", { part: 1 }],
      ["r2", { part: 2 }],
      ["r3", {}],
      ["r4", { part: 4 }],
      ["r5", { part: 5 }],
    ]);
    assert.deepEqual(noted, [keys.replica("r2"), keys.parts("r3"), `${keys.parts("r4")} bad`]);
    assert.ok(healed.includes(keys.replica("r1")) && healed.includes(`${keys.parts("r1")} part`));
  });

  it("has no reports without asking for them by name", async () => {
    assert.deepEqual([await store.replicas(), await store.replicaParts()], [new Map(), new Map()]);
    assert.equal(server.commands.includes("MGET"), false);
  });

  it("reports that Redis is away and back, once each, and fails meanwhile", async () => {
    const states: StoreState[] = [];
    const end = store.onState((state) => states.push(state));
    server.refusal = (command) => (command === "INFO" ? "ERR not yet" : undefined);
    server.drop();
    await until(() => states.length === 1, soon("the loss"));
    await assert.rejects(store.load(), { code: "STATE_AWAY", message: /redis does not do it: / });
    server.refusal = () => undefined;
    await until(() => states.length === 2, soon("the connection"));
    assert.deepEqual(
      states.map(({ connected }) => connected),
      [false, true],
    );
    assert.deepEqual(
      lines.map((line) => /^(info redis connected|warn redis unreachable)/.exec(line)?.[1]),
      ["info redis connected", "warn redis unreachable", "info redis connected"],
    );
    end();
    server.drop();
    await until(() => !store.state.connected, soon("the second loss"));
    assert.equal(states.length, 2);
  });

  it("wraps what Redis refuses, with its words", async () => {
    server.refusal = (command) => (command === "EXEC" ? "OOM command not allowed" : undefined);
    await assert.rejects(store.load(), { code: "STATE_AWAY", message: /OOM command not allowed/ });
    await assert.rejects(store.putReplica("a", { summary: 1, parts: new Map(), isWhole: true }, 1_000), {
      code: "STATE_AWAY",
    });
  });

  it("connects anew where Redis turns out to be a replica", async () => {
    await written();
    server.refusal = (command) =>
      command === "EVAL" ? "READONLY You can't write against a read only replica." : undefined;
    await assert.rejects(store.write({ position: 21, entries: new Map() }), { code: "STATE_AWAY" });
    server.refusal = () => undefined;
    await until(
      () => lines.filter((line) => line === "info redis connected").length === 2,
      soon("the next connection"),
    );
    assert.ok(await store.write({ position: 21, entries: new Map() }));
  });

  it("releases its lock when it ends, and no other's", async () => {
    await written();
    await store[Symbol.asyncDispose]();
    assert.equal(server.held.has(keys.writer), false);
    const other = { value: Buffer.from("other"), untilMs: Number.POSITIVE_INFINITY };
    server.held.set(keys.writer, other);
    await using second = await open();
    await second[Symbol.asyncDispose]();
    assert.equal(server.held.get(keys.writer), other);
  });
});

it("a store whose Redis was never there says so, and ends without it", async () => {
  lines.length = 0;
  const gone = await startRedisInMemory();
  await gone[Symbol.asyncDispose]();
  const store = openStore({ url: gone.url, log, nowMs: () => 5 });
  assert.deepEqual(store.state, { connected: false, sinceMs: 5, reason: "connecting" });
  const states: StoreState[] = [];
  store.onState((state) => states.push(state));
  await until(() => states.length > 0, soon("the failure"));
  assert.ok(!states[0]?.connected && /ECONNREFUSED|closed/.test(states[0]?.reason ?? "") && states[0]?.sinceMs === 5);
  await until(() => lines.length === 1, soon("the line"));
  await store[Symbol.asyncDispose]();
});
