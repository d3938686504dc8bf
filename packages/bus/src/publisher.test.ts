import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { connectEmbedded } from "./embedded-bus.ts";
import { isDelete } from "./envelope.ts";
import { createPublisher, createSeal, filters, keyText, type PublisherOptions, subscribe } from "./index.ts";

const hour = 3_600_000;

const config = (name: string, spec: unknown, kind = "VirtualService"): Change => {
  const key = { kind, namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};
const endpoints = (hostname: string): Change => {
  const key = { shard: "Kubernetes/c1", namespace: "shop", hostname };
  return { type: "endpoints", op: "put", key, value: [] };
};
const service = (hostname: string): Change => {
  const key = { shard: "Kubernetes/c1", namespace: "shop", hostname, name: hostname };
  return { type: "service", op: "delete", key };
};

function setUp(name: string, options: Partial<PublisherOptions> = {}) {
  const clock = { nowMs: 10 * hour };
  const nowMs = () => clock.nowMs;
  const bus = connectEmbedded(name, nowMs);
  const create = (more: Partial<PublisherOptions> = {}) =>
    createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs, ...options, ...more });
  return { bus, clock, create };
}

async function subjects(bus: Bus): Promise<readonly string[]> {
  return (await bus.lastValues(filters.everything)).map(({ subject }) => subject.slice("flotilla.v1.".length));
}

describe("publisher", () => {
  it("publishes nothing when only the place or the source's version of an object is another", async () => {
    const { create } = setUp("publisher-places");
    const at = (location: string): Change => {
      const change = config("a", { hosts: ["a"] });
      if (change.type !== "config" || change.op !== "put") throw new TypeError("no configuration");
      const provenance = { source: "kubernetes", location };
      return { ...change, value: { ...change.value, resourceVersion: location, provenance } };
    };
    assert.equal(await create().synchronize([at("1")]), 1);
    assert.equal(await create().synchronize([at("2")]), 0);
  });

  it("takes back what vanished while it was away, of any topic and name", async () => {
    const { bus, create } = setUp("publisher-vanished");
    const names = [config("a.b*c_d", {}), endpoints("web.example.com"), config("", {}, "MeshConfig")];
    await create().synchronize([...names, config("stays", {})]);
    assert.equal(await create().synchronize([config("stays", {})]), names.length);
    const stop = new AbortController();
    const options = { bus, filter: filters.everything, afterSequence: 0, seal: undefined, log: noopLogger };
    for await (const item of subscribe(options, stop.signal)) {
      if (item.kind !== "group") continue;
      const gone = item.group.changes.filter(({ op }) => op === "delete");
      assert.deepEqual(gone.map(keyText).sort(), names.map(keyText).sort());
      break;
    }
  });

  it("values of the stream stay where the state may be older, missing ones are published", async () => {
    const { create } = setUp("publisher-old");
    await create().synchronize([config("a", { hosts: ["new"] })]);
    const older = [config("a", { hosts: ["old"] }), config("b", { hosts: ["b"] })];
    assert.equal(await create().synchronize(older, { isOld: () => true }), 1);
    assert.equal(await create().synchronize(older), 1);
  });

  it("a restart with nothing changed leaves the sequence where it was", async () => {
    const { bus, create } = setUp("publisher-quiet");
    await create().synchronize([config("a", {}), endpoints("web")]);
    const before = (await bus.lastValues(filters.everything)).at(-1)?.sequence;
    assert.equal(await create().synchronize([endpoints("web"), config("a", {})]), 0);
    assert.equal((await bus.lastValues(filters.everything)).at(-1)?.sequence, before);
  });

  it("keeps deletes for a while, then forgets them", async () => {
    const { bus, clock, create } = setUp("publisher-deletes", { keepDeletesMs: 2 * hour });
    const first = create();
    await first.synchronize([config("a", {}), config("b", {})]);
    await first.publish([
      { type: "config", op: "delete", key: { kind: "VirtualService", namespace: "shop", name: "a" } },
    ]);
    clock.nowMs += hour;
    await create().synchronize([config("b", {})]);
    assert.ok((await subjects(bus)).includes("config.VirtualService.shop.a"));
    clock.nowMs += 2 * hour;
    await create().synchronize([config("b", {})]);
    assert.deepEqual(await subjects(bus), ["config.VirtualService.shop.b", "sync.c", "horizon"]);
  });

  it("refuses what is too large alone, and reports it; the published version stays", async () => {
    const { bus, create } = setUp("publisher-large");
    const refused: string[] = [];
    const onRefused = (change: Change, reason: string) => refused.push(`${keyText(change)}: ${reason}`);
    const publisher = create({ bus: { ...bus, maxMessageBytes: 10_000 }, onRefused });
    await publisher.synchronize([config("a", { size: "small" }), config("b", {})]);
    const large = config("a", { size: randomBytes(20_000).toString("base64") });
    assert.equal(await publisher.publish([large, config("b", { x: 1 })]), 1);
    assert.match(refused.join(), /^config VirtualService\/shop\/a: \d+ bytes are more than the bus takes, 10000$/);
    const [kept] = await bus.lastValues("flotilla.v1.config.VirtualService.shop.a");
    assert.match(new TextDecoder().decode(kept?.payload), /small/);
  });

  it("refuses a key that is too long for a subject alone, at every start, and publishes the others", async () => {
    const { bus, create } = setUp("publisher-long");
    const refused: string[] = [];
    const onRefused = (_change: Change, reason: string) => refused.push(reason);
    const long = config(`${"a".repeat(4_000)}.example.com`, {});
    assert.equal(await create({ onRefused }).synchronize([long, config("b", {})]), 1);
    assert.match(refused.join(), /^a key of \d{4} bytes is more than the bus takes, 2000$/);
    assert.equal(await create({ onRefused }).synchronize([long, config("b", { x: 1 })]), 1);
    assert.equal((await bus.lastValues(filters.config)).length, 1);
  });

  it("large values that repeat themselves are compressed", async () => {
    const { bus, create } = setUp("publisher-packed");
    const large = config("a", { hosts: Array.from({ length: 5_000 }, (_, i) => `host-${i}.example.com`) });
    await create().synchronize([large]);
    const [stored] = await bus.lastValues(filters.config);
    assert.ok((stored?.payload.length ?? 0) < 30_000);
    const options = { bus, filter: filters.config, afterSequence: 0, seal: undefined, log: noopLogger };
    for await (const item of subscribe(options, new AbortController().signal)) {
      assert.deepEqual(item.kind === "group" ? item.group.changes : [], [large]);
      break;
    }
  });

  it("refuses to send a Secret without a key, and sends nothing of its group", async () => {
    const { bus, create } = setUp("publisher-keyless");
    await assert.rejects(create().publish([config("a", {}), config("s", {}, "Secret")]), { code: "BUS_SEALED" });
    assert.deepEqual(await subjects(bus), []);
  });

  it("two calls at once: the later one wins", async () => {
    const { bus, create } = setUp("publisher-order");
    const publisher = create();
    await Promise.all([1, 2, 3].map((x) => publisher.publish([config("a", { x })])));
    const [{ payload } = { payload: new Uint8Array() }] = await bus.lastValues(filters.config);
    assert.match(new TextDecoder().decode(payload), /"x":3/);
  });

  it("a topic's readers get whole groups although the rest travels on other subjects", async () => {
    const { bus, create } = setUp("publisher-topics");
    const publisher = create();
    await publisher.synchronize([]);
    const options = { bus, filter: filters.endpoints, afterSequence: 0, seal: undefined, log: noopLogger };
    const items = subscribe(options, new AbortController().signal);
    assert.equal((await items.next()).value?.kind, "caught-up");
    await publisher.publish([endpoints("x"), service("none"), config("a", {}), endpoints("y")]);
    const { value } = await items.next();
    assert.equal(value?.kind === "group" ? value.group.changes.length : 0, 2);
    await items.return(undefined);
  });

  it("a sealed payload opens in its own place only", () => {
    const seal = createSeal("a key for tests");
    const sealed = seal.seal(new TextEncoder().encode("secret"), "here");
    assert.equal(new TextDecoder().decode(seal.open(sealed, "here")), "secret");
    assert.throws(() => seal.open(sealed, "there"), { code: "BUS_SEALED" });
    assert.throws(() => createSeal("another key").open(sealed, "here"), { code: "BUS_SEALED" });
    assert.throws(() => seal.open(sealed.subarray(0, 5), "here"), { code: "BUS_SEALED" });
  });

  it("withdraws keys without a source on request, and compares nothing else", async () => {
    const { bus, create } = setUp("publisher-prunes");
    const publisher = create();
    await publisher.synchronize([config("a", 1), config("b", 1), endpoints("h")]);
    const isThere = (key: Change["key"]) => "kind" in key && key.name === "a";
    assert.equal(await publisher.prune(isThere), 2);
    assert.equal(await publisher.prune(isThere), 0);
    assert.equal(await create().synchronize([config("a", 1)]), 0);
    assert.ok((await subjects(bus)).includes("config.VirtualService.shop.b"), "the delete is kept for late readers");
  });

  it("asks the source for what the stream lost, where it can", async () => {
    const state = [config("a", 1), config("b", 1), config("c", 1)];
    const { bus, create } = setUp("publisher-asks", { current: () => state });
    const publisher = create();
    await publisher.synchronize(state.slice(0, 2));
    const [a] = await bus.lastValues(filters.config);
    await bus.forget([a?.sequence ?? 0]);
    assert.equal(await publisher.attest(), 1, "what was not published yet is published by its own change");
    assert.equal((await bus.lastValues(filters.config)).length, 2);
    assert.equal(await publisher.attest(), 0);
  });

  it("publishes again what the stream lost or holds otherwise, and publishes what there is", async () => {
    const { bus, create } = setUp("publisher-attests");
    const publisher = create();
    assert.equal(await publisher.attest(), 0, "before everything was published there is nothing to compare");
    await publisher.synchronize([config("a", 1), config("b", 1), endpoints("h")]);
    const [a, b] = await bus.lastValues(filters.config);
    assert.ok(a !== undefined && b !== undefined);
    await bus.forget([a.sequence]);
    await create().publish([config("b", 2), config("stranger", 1)]);
    assert.equal(await publisher.attest(), 3);
    const held = await bus.lastValues(filters.everything);
    const open = held.filter(({ payload }) => new TextDecoder().decode(payload).includes('"put"'));
    assert.deepEqual(open.map(({ subject }) => subject.slice("flotilla.v1.".length)).sort(), [
      "config.VirtualService.shop.a",
      "config.VirtualService.shop.b",
      "endpoints.Kubernetes_002fc1.shop.h",
    ]);
    const marker = held.find(({ subject }) => subject.endsWith("sync.c"));
    const { digests } = JSON.parse(new TextDecoder().decode(marker?.payload)) as {
      digests: Record<string, { count: number }>;
    };
    assert.deepEqual(
      Object.entries(digests).map(([topic, { count }]) => `${topic} ${count}`),
      ["config.VirtualService 2", "endpoints 1"],
    );
    assert.equal(await publisher.attest(), 0);
  });

  it("compares what it publishes itself, without reading what others publish", async () => {
    const { bus, create } = setUp("publisher-attests-own");
    const read: string[] = [];
    const lastValues: Bus["lastValues"] = (filter, options) => {
      read.push(`${filter.slice("flotilla.v1.".length)}${options?.isPaced === true ? " paced" : ""}`);
      return bus.lastValues(filter, options);
    };
    const publisher = create({ bus: Object.create(bus, { lastValues: { value: lastValues } }) as Bus });
    await publisher.synchronize([config("a", 1), endpoints("h")]);
    read.length = 0;
    assert.equal(await publisher.attest(), 0);
    assert.deepEqual(read, ["config.VirtualService.> paced", "endpoints.> paced"]);
    const gateway: Change = { type: "config", op: "delete", key: { kind: "Gateway", namespace: "shop", name: "g" } };
    await publisher.publish([{ ...config("a", 1), key: gateway.key } as Change]);
    await publisher.publish([gateway]);
    read.length = 0;
    assert.equal(await publisher.attest(), 0);
    assert.deepEqual(read, ["config.> paced", "endpoints.> paced"], "also a kind of which nothing is left");
  });

  it("publishes while the stream is compared, and takes nothing of that for lost", async () => {
    const { bus, create } = setUp("publisher-attests-beside");
    const readIt = Promise.withResolvers<void>();
    const mayAnswer = Promise.withResolvers<void>();
    let isComparing = false;
    const lastValues: Bus["lastValues"] = async (filter) => {
      const values = await bus.lastValues(filter);
      if (isComparing) {
        readIt.resolve();
        await mayAnswer.promise;
      }
      return values;
    };
    const publisher = create({ bus: Object.create(bus, { lastValues: { value: lastValues } }) as Bus });
    await publisher.synchronize([config("a", 1), config("b", 1), config("c", 1)]);
    const [a] = await bus.lastValues(filters.config);
    await bus.forget([a?.sequence ?? 0]);
    isComparing = true;
    const attested = publisher.attest();
    await readIt.promise;
    const gone = { type: "config", op: "delete", key: config("c", 1).key } as Change;
    assert.equal(await publisher.publish([config("b", 2), config("new", 1), gone]), 3, "waits for no comparison");
    mayAnswer.resolve();
    assert.equal(await attested, 1, "the lost one alone");
    isComparing = false;
    assert.equal(await publisher.attest(), 0);
    const held = await bus.lastValues(filters.config);
    const open = held.filter((message) => !isDelete(message)).map(({ subject }) => subject.split(".").at(-1));
    assert.deepEqual(open.sort(), ["a", "b", "new"]);
  });
});
