/** Differences between a reader's state and the stream, and the last values of the stream. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Change } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { type CompareOptions, differences, keyState } from "./compare.ts";
import { connectEmbedded } from "./embedded-bus.ts";
import { createPublisher, createSeal, filters } from "./index.ts";
import { lastChanges } from "./last-changes.ts";
import { topicOf } from "./topics.ts";

const seal = createSeal("a key for tests");
const put = (name: string, spec: unknown, kind = "VirtualService"): Change => {
  const key = { kind, namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};
const name = (change: Change): string => `${change.op} ${"name" in change.key ? change.key.name : ""}`;
const topics = new Set([topicOf(keyState(put("a", {}), seal).subject)]);

/** A stream with `a` in its second version, `b`, and `c` deleted. */
async function aStream(id: string) {
  const bus = connectEmbedded(`compare-${id}`, () => 1_000);
  const publisher = createPublisher({ bus, publisher: "p", seal, log: noopLogger, nowMs: () => 1_000 });
  await publisher.synchronize([put("a", { v: 1 }), put("b", {}), put("c", {})]);
  await publisher.synchronize([put("a", { v: 2 }), put("b", {})]);
  const sequences = (await bus.lastValues(filters.everything)).map(({ sequence }) => sequence);
  const position = Math.max(...sequences);
  const compare = async (held: readonly Change[], more: Partial<CompareOptions> = {}) => {
    const states = held.map((change) => keyState(change, seal));
    return (await differences({ bus, seal, position, held: states, topics, ...more })).map(name).toSorted();
  };
  return { bus, position, compare };
}

describe("a reader's state", () => {
  const current = [put("a", { v: 2 }), put("b", {})];
  const cases: readonly (readonly [name: string, held: readonly Change[], found: readonly string[]])[] = [
    ["is the stream's", current, []],
    ["has an old value", [put("a", { v: 1 }), put("b", {})], ["put a"]],
    ["lacks a value", [put("a", { v: 2 })], ["put b"]],
    ["has one that was deleted", [...current, put("c", {})], ["delete c"]],
    ["has one that the stream never had", [...current, put("d", {})], ["delete d"]],
    ["is empty", [], ["put a", "put b"]],
  ];
  for (const [about, held, found] of cases)
    it(`that ${about} differs in ${found.join(", ") || "nothing"}`, async () => {
      const { compare } = await aStream(about);
      assert.deepEqual(await compare(held), found);
    });

  it("is compared up to its position, and in its topics", async () => {
    const { compare } = await aStream("position");
    assert.deepEqual(await compare([put("d", {})], { position: 0 }), ["delete d"]);
    assert.deepEqual(await compare([put("d", {})], { topics: new Set() }), []);
  });

  it("keeps its value where the stream's cannot be read, which is set aside", async () => {
    const { bus, compare, position } = await aStream("unreadable");
    const { subject } = keyState(put("a", {}), seal);
    await bus.publish([{ subject, payload: new TextEncoder().encode("{") }]);
    assert.deepEqual(await compare(current, { position: position + 1 }), []);
    assert.deepEqual(
      bus.setAside.list().map(({ place }) => place),
      [subject],
    );
    const left: string[] = [];
    for await (const { change } of lastChanges({ bus, filter: filters.everything, seal })) left.push(name(change));
    assert.deepEqual(left.toSorted(), ["delete c", "put b"]);
  });
});

describe("the last values of a stream", () => {
  it("have their places in the sequence, without sealed ones where there is no key", async () => {
    const bus = connectEmbedded("last-changes", () => 1_000);
    const publisher = createPublisher({ bus, publisher: "p", seal, log: noopLogger, nowMs: () => 1_000 });
    await publisher.synchronize([put("a", {}), put("s", { data: {} }, "Secret")]);
    const read = async (key: typeof seal | undefined) => {
      const found: string[] = [];
      for await (const one of lastChanges({ bus, filter: filters.everything, seal: key })) {
        assert.equal(one.cause.source ?? "", "");
        found.push(name(one.change));
      }
      return found.toSorted();
    };
    assert.deepEqual(await read(seal), ["put a", "put s"]);
    assert.ok(!(await read(undefined)).includes("put s"));
    assert.deepEqual(
      bus.setAside.list().filter(({ place }) => place === keyState(put("s", { data: {} }, "Secret"), seal).subject),
      [],
      "one that is sealed is no fault of its publisher",
    );
  });
});
