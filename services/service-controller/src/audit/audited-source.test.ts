import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@flotilla/model";
import type { RegistryInput } from "@flotilla/registry";
import { BoundedQueue, noopLogger, until } from "@flotilla/runtime";
import type { InputGroup, InputSource } from "../watch/input-source.ts";
import { type AuditedSource, auditedSource } from "./audited-source.ts";

function service(name: string, version: number): KubeObject {
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace: "n", resourceVersion: String(version) } };
}
const put = (name: string, version: number): RegistryInput => ({
  type: "object",
  op: "put",
  object: service(name, version),
});
const gone = (name: string): RegistryInput => ({
  type: "object",
  op: "delete",
  key: { kind: "Service", namespace: "n", name },
});

/** A source with a truth, and a wire to its reader that the test controls. */
function world() {
  const truth = new Map<string, number>();
  const wire = new BoundedQueue<InputGroup>(10_000);
  let isAway = false;
  const source: InputSource = {
    name: "world",
    problems: () => [],
    async *groups(stop) {
      stop.addEventListener("abort", () => wire.close(), { once: true });
      yield* wire;
    },
    async list() {
      if (isAway) return [];
      return [{ shard: "Kubernetes/Kubernetes", inputs: [...truth].map(([name, version]) => put(name, version)) }];
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return {
    truth,
    source,
    send: (...inputs: readonly RegistryInput[]) => wire.put({ inputs, eventTimeMs: 1 }),
    away: (value: boolean) => {
      isAway = value;
    },
  };
}

function follow(source: InputSource) {
  const repairs: string[] = [];
  const audited = auditedSource(source, {
    ownCluster: "Kubernetes",
    everyMs: 20,
    settleMs: 20,
    log: noopLogger,
    nowMs: Date.now,
    onRepair: (shard, count) => repairs.push(`${shard} ${count}`),
  }) as AuditedSource;
  const held = new Map<string, string>();
  const stop = new AbortController();
  const done = (async () => {
    for await (const { inputs } of audited.groups(stop.signal)) {
      for (const input of inputs) {
        if (input.type !== "object") continue;
        if (input.op === "delete") held.delete(input.key.name);
        else held.set(input.object.metadata.name, input.object.metadata.resourceVersion ?? "");
      }
    }
  })();
  const text = () =>
    [...held]
      .map((pair) => pair.join(" "))
      .sort()
      .join(", ");
  return {
    audited,
    repairs,
    text,
    is: (expected: string) =>
      until(() => text() === expected, { withinMs: 30_000, what: `${expected}, not ${text()}` }),
    async end() {
      stop.abort();
      await done;
    },
  };
}

test("lost puts, changes and deletes are found, repaired and counted", async () => {
  const { truth, source, send } = world();
  const followed = follow(source);
  for (const name of ["a", "b"]) truth.set(name, 1);
  await send(put("a", 1), put("b", 1));
  await followed.is("a 1, b 1");
  truth.set("a", 2).set("c", 3).delete("b");
  await followed.is("a 2, c 3");
  assert.deepEqual(followed.repairs, ["Kubernetes/Kubernetes 3"]);
  await until(() => followed.audited.shards()[0]?.agreedAtMs !== undefined, { withinMs: 30_000, what: "agreement" });
  const [shard] = followed.audited.shards();
  assert.deepEqual([shard?.objects, shard?.repaired], [2, 3]);
  await followed.end();
});

test("a source that is away takes nothing with it", async () => {
  const { truth, source, send, away } = world();
  const followed = follow(source);
  truth.set("a", 1);
  await send(put("a", 1));
  await followed.is("a 1");
  away(true);
  truth.clear();
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(followed.text(), "a 1");
  assert.deepEqual(followed.repairs, []);
  await followed.end();
});

/** Seeded, so that a failure can be run again. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

for (const seed of [1, 2, 3]) {
  test(`events dropped, doubled, late and out of order end in the truth, seed ${seed}`, async () => {
    const random = generator(seed);
    const { truth, source, send } = world();
    const followed = follow(source);
    await send();
    const late: RegistryInput[] = [];
    for (let version = 1; version <= 1_000; version++) {
      const name = `s${Math.floor(random() * 40)}`;
      const isPut = random() < 0.8;
      if (isPut) truth.set(name, version);
      else truth.delete(name);
      const event = isPut ? put(name, version) : gone(name);
      const fate = random();
      if (fate < 0.05) continue;
      if (fate < 0.1) late.push(event);
      else await send(...(fate < 0.15 ? [event, event] : [event]));
      if (random() < 0.02) await send(...late.splice(0).reverse());
    }
    await send(...late);
    await followed.is(
      [...truth]
        .map((pair) => pair.join(" "))
        .sort()
        .join(", "),
    );
    assert.ok(followed.repairs.length > 0, "some of them mattered");
    await followed.end();
  });
}

test("a fresh list of the source is handed on", async () => {
  const { truth, source, away } = world();
  truth.set("a", 1);
  const { audited, end } = follow(source);
  const { signal } = new AbortController();
  assert.deepEqual(await audited.list?.(signal), [{ shard: "Kubernetes/Kubernetes", inputs: [put("a", 1)] }]);
  away(true);
  assert.deepEqual(await audited.list?.(signal), []);
  await end();
});
