/** The comparison of the held state with the digests of publishers, and the repairs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectBus, createPublisher, type Digests, digestsOf, keyState, keyText } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { type Logger, noopLogger } from "@flotilla/runtime";
import { aConfig, put } from "../testing/mesh.ts";
import { DigestCheck } from "./digest-check.ts";
import { Inputs } from "./inputs.ts";

const config = (kind: string, name: string, host = name) => put(aConfig(kind, "shop", name, { host }))[0] as Change;
const [a, b, old] = [
  config("VirtualService", "a"),
  config("VirtualService", "b"),
  config("VirtualService", "a", "old"),
];
const gateway = config("Gateway", "g");
const removed = (change: Change) => ({ type: change.type, op: "delete", key: change.key }) as Change;
const digests = (...changes: readonly Change[]): Digests =>
  digestsOf(changes.map((change) => keyState(change, undefined)));

async function checking(name: string, published: readonly Change[], held: readonly Change[]) {
  const bus = await connectBus(
    { url: `embedded:${name}`, clientName: "test", log: noopLogger },
    new AbortController().signal,
  );
  const publisher = createPublisher({ bus, publisher: "one", seal: undefined, log: noopLogger, nowMs: () => 0 });
  await publisher.synchronize(published);
  const inputs = new Inputs();
  inputs.record(held);
  const warnings: object[] = [];
  let nowMs = 1_000;
  const log: Logger = { ...noopLogger, warn: (_message: string, fields?: object) => void warnings.push(fields ?? {}) };
  const check = new DigestCheck({ inputs, seal: undefined, log, nowMs: () => nowMs });
  const run = async (by: string, claimed: Digests) => {
    const topics = await check.differing(by, claimed);
    const found = topics.length === 0 ? [] : await check.repairs(bus, by, topics, 1_000);
    return found.map((change) => `${change.op} ${keyText(change)}`).sort();
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { run, pass, inputs, warnings, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

describe("a check of digests", () => {
  const cases: readonly (readonly [string, held: readonly Change[], want: readonly string[]])[] = [
    ["finds nothing where all agree", [a, b, gateway], []],
    ["finds an object that was lost", [a, gateway], [`put ${keyText(b)}`]],
    ["finds one that is not as it was published", [old, b, gateway], [`put ${keyText(a)}`]],
    [
      "finds one that went unnoticed",
      [a, b, config("VirtualService", "gone"), gateway],
      [`delete ${keyText(removed(config("VirtualService", "gone")))}`],
    ],
    ["finds several at once", [old], [`put ${keyText(a)}`, `put ${keyText(b)}`, `put ${keyText(gateway)}`].sort()],
  ];
  for (const [name, held, want] of cases)
    it(name, async () => {
      const published = [a, b, gateway];
      await using at = await checking(`digest-check-${name}`, published, held);
      assert.deepEqual(await at.run("one", digests(...published)), want);
      assert.equal(at.warnings.length, want.length === 0 ? 0 : 1);
    });

  it("compares no topic that several publishers publish: none of them has the digest of all", async () => {
    await using at = await checking("digest-check-shared", [a, b], [a, gateway]);
    assert.deepEqual(await at.run("two", { ...digests(gateway), ...digests(a) }), []);
    assert.deepEqual(await at.run("one", digests(a, b)), []);
  });

  it("reports how long the difference may have been there", async () => {
    await using at = await checking("digest-check-since", [a], [a]);
    assert.deepEqual(await at.run("one", digests(a)), []);
    at.inputs.record([old]);
    at.pass(5_000);
    assert.deepEqual(await at.run("one", digests(a)), [`put ${keyText(a)}`]);
    assert.deepEqual(at.warnings, [
      { publisher: "one", topics: ["config.VirtualService"], count: 1, atMostSinceMs: 5_000 },
    ]);
  });
});
