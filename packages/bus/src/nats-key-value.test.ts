/** Shared values over a NATS server in memory: what its bucket is made with, and how it is found again after faults. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createLogger, until } from "@flotilla/runtime";
import { type Bus, connectBus, type KeyValue } from "./index.ts";
import { type NatsInMemory, startNatsInMemory } from "./nats-server.fixture.ts";

const stream = "KV_flotilla-leases";
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (payload: Uint8Array | undefined) => payload && new TextDecoder().decode(payload);
const soon = (what: string) => ({ withinMs: 60_000, what });

describe("shared values over NATS in memory", () => {
  let server: NatsInMemory;
  let bus: Bus;
  let values: KeyValue;
  let lines: string[];

  beforeEach(async () => {
    server = await startNatsInMemory();
    lines = [];
    const log = createLogger("bus", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
    bus = await connectBus({ url: server.url, clientName: "test", log, replicas: 1 }, new AbortController().signal);
    values = await bus.keyValue("leases", { ttlMs: 60_000 });
  });
  afterEach(async () => {
    await bus[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  it("stand in a stream of one message a key, which refuses what is too much and is read from its leader", () => {
    const { name, subjects, max_age, ...more } = server.jetstream.streams.get(stream)?.config ?? {};
    const made = more as Readonly<Record<string, unknown>>;
    assert.deepEqual([name, subjects, max_age], [stream, ["$KV.flotilla-leases.>"], 60_000_000_000]);
    assert.deepEqual(
      [
        "retention",
        "max_msgs_per_subject",
        "discard",
        "allow_rollup_hdrs",
        "num_replicas",
        "storage",
        "allow_direct",
      ].map((field) => made[field]),
      ["limits", 1, "new", true, 1, "file", false],
    );
  });

  it("are used as they are by the next service", async () => {
    await values.put("a", bytes("one"));
    server.calls.length = 0;
    const again = await bus.keyValue("leases", { ttlMs: 60_000 });
    assert.equal(textOf((await again.get("a"))?.value), "one");
    assert.deepEqual(
      server.calls.filter((call) => /CREATE|UPDATE/.test(call)),
      [],
    );
  });

  it("keep the code that authenticates them, and have none without", async () => {
    assert.equal(await values.put("a", bytes("one"), "code of a"), 1);
    assert.equal(await values.put("b", bytes("two")), 2);
    assert.equal(await values.update("b", bytes("three"), 2, "code of b"), 3);
    const found = [await values.get("a"), ...(await values.entries())].map((entry) => ({
      ...entry,
      value: textOf(entry?.value),
    }));
    assert.deepEqual(found, [
      { key: "a", revision: 1, value: "one", code: "code of a" },
      { key: "a", revision: 1, value: "one", code: "code of a" },
      { key: "b", revision: 3, value: "three", code: "code of b" },
    ]);
  });

  const overwriting: readonly {
    readonly name: string;
    readonly before: readonly (string | undefined)[];
    readonly revision: number;
    readonly expected: number | undefined;
  }[] = [
    { name: "nothing where nothing is expected", before: [], revision: 0, expected: 1 },
    { name: "a value where nothing is expected", before: ["a"], revision: 0, expected: undefined },
    { name: "a deleted value where nothing is expected", before: ["a", undefined], revision: 0, expected: 3 },
    { name: "a deleted value where the value is expected", before: ["a", undefined], revision: 1, expected: undefined },
    { name: "the expected value", before: ["a", "b"], revision: 2, expected: 3 },
    { name: "a newer value", before: ["a", "b"], revision: 1, expected: undefined },
    { name: "nothing where a value is expected", before: [], revision: 1, expected: undefined },
  ];
  for (const { name, before, revision, expected } of overwriting)
    it(`an update ${expected === undefined ? "does not overwrite" : "overwrites"} ${name}`, async () => {
      for (const text of before)
        if (text === undefined) await values.delete("key");
        else await values.put("key", bytes(text));
      assert.equal(await values.update("key", bytes("new"), revision), expected);
      const last = before.at(-1);
      assert.equal(textOf((await values.get("key"))?.value), expected === undefined ? last : "new");
    });

  it("end with a failure that nothing repairs", async () => {
    const refused = { error: { code: 400, err_code: 10_077, description: "message size exceeds maximum allowed" } };
    server.jetstream.store = () => refused;
    await assert.rejects(values.put("a", bytes("one")), /message size exceeds/);
    await assert.rejects(values.update("a", bytes("one"), 0), /message size exceeds/);
    await assert.rejects(values.update("a", bytes("one"), 1), /message size exceeds/);
  });

  const uses: readonly (readonly [name: string, use: (values: KeyValue) => Promise<unknown>, expected: unknown])[] = [
    ["putting", (lost) => lost.put("a", bytes("one")), 1],
    ["updating", (lost) => lost.update("a", bytes("one"), 0), 1],
    ["deleting", (lost) => lost.delete("a"), undefined],
    ["reading", (lost) => lost.get("a"), undefined],
    ["reading all", (lost) => lost.entries(), []],
  ];
  for (const [name, use, expected] of uses)
    it(`make a bucket that was lost anew, empty, when ${name} finds none`, async () => {
      await values.put("a", bytes("old"));
      await values.put("a", bytes("older"));
      server.jetstream.streams.delete(stream);
      assert.deepEqual(await use(values), expected);
      await values.put("b", bytes("two"));
      assert.equal(textOf((await values.get("b"))?.value), "two");
    });

  it("are asked for when servers that stood still answer again, not seconds later", async () => {
    await values.put("a", bytes("one"));
    server.greets = false;
    server.drop();
    await until(() => lines.includes("nats disconnected") && server.connections === 1, soon("a connection in vain"));
    const [found, stored] = [values.get("a"), values.put("b", bytes("two"))];
    await nextTurn();
    // The client library begins another attempt, and drops what it has to send.
    server.greets = true;
    const back = performance.now();
    server.drop();
    assert.deepEqual([textOf((await found)?.value), await stored], ["one", 2]);
    const waitedMs = performance.now() - back;
    assert.ok(waitedMs < 3_000, `${waitedMs} ms`);
  });

  it("are given up with the connection over which they were asked for", async () => {
    server.silence = (subject) => subject.includes("leases");
    const attempts = [values.get("a"), values.put("a", bytes("one")), values.update("a", bytes("one"), 0)];
    const ended = Promise.allSettled([...attempts, values.delete("a")]);
    await until(() => server.calls.filter((call) => call.includes("leases")).length >= 5, soon("the requests"));
    const lost = performance.now();
    server.drop();
    for (const result of await ended) {
      assert.ok(result.status === "rejected");
      assert.match(String(result.reason), /BUS_CONNECT.*is lost/);
    }
    const waitedMs = performance.now() - lost;
    assert.ok(waitedMs < 3_000, `${waitedMs} ms`);
  });

  it("are watched over a lost connection, each value once", async () => {
    await values.put("a", bytes("one"));
    const seen: string[] = [];
    const end = new AbortController();
    const watching = (async () => {
      for await (const { key, value, revision } of values.watch(end.signal))
        seen.push(`${key}=${textOf(value)} ${revision}`);
    })();
    await until(() => seen.length === 1, soon("the first value"));
    server.drop();
    await until(() => lines.includes("nats reconnected"), soon("the server"));
    await values.put("b", bytes("two"));
    await values.delete("a");
    await until(() => seen.length >= 3, soon("all values"));
    assert.deepEqual(seen, ["a=one 1", "b=two 2", "a=undefined 3"]);
    end.abort();
    await watching;
  });

  it("are watched in a bucket that was rewound and written on", async () => {
    await values.put("a", bytes("one"));
    const seen: string[] = [];
    const end = new AbortController();
    const watching = (async () => {
      for await (const { value, revision } of values.watch(end.signal)) seen.push(`${textOf(value)} ${revision}`);
    })();
    await until(() => seen.length === 1, soon("the first value"));
    const bucket = server.jetstream.streams.get(stream);
    bucket?.rewind(0);
    bucket?.put("$KV.flotilla-leases.a", Buffer.from("other"), undefined, Date.now() + 5_000);
    server.drop();
    await until(() => seen.length === 2, soon("the other value"));
    assert.deepEqual(seen, ["one 1", "other 1"]);
    end.abort();
    await watching;
  });
});
