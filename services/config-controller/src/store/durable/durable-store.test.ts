/** On the embedded bus; durable-store.integration.test.ts has a real one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { type Bus, connectBus, createSeal, type KeyValue } from "@flotilla/bus";
import { type Config, configKeyText } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { aConfig, aSidecar, configStoreConformance } from "../config-store.conformance.ts";
import { type DurableStore, type DurableStoreOptions, openDurableStore } from "./durable-store.ts";
import type { Transaction } from "./transaction.ts";

let buckets = 0;

async function withBus(work: (bus: Bus) => Promise<void>): Promise<void> {
  const url = `embedded:durable-${++buckets}`;
  await using bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
  await work(bus);
}

function open(values: KeyValue, more: Partial<DurableStoreOptions> = {}): Promise<DurableStore> {
  const bounds = { maxBytes: 1_000_000, maxObjects: 1_000, maxWaiting: 100, random: Math.random };
  return openDurableStore({
    name: "api",
    values,
    seal: undefined,
    log: noopLogger,
    nowMs: Date.now,
    ...bounds,
    ...more,
  });
}

const keys = (configs: readonly Config[]) => configs.map(({ key }) => configKeyText(key)).sort();

describe("the durable store", () => {
  configStoreConformance(async () => {
    const url = `embedded:durable-${++buckets}`;
    const bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
    const { store } = await open(await bus.keyValue("config"));
    return { store, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
  });
});

describe("transactions", () => {
  it("are published and stored as a whole, or not at all", () =>
    withBus(async (bus) => {
      const durable = await open(await bus.keyValue("config"));
      const reported: Transaction[] = [];
      durable.onCommit((transaction) => reported.push(transaction));
      await durable.transact((draft) => {
        draft.create(aSidecar("shop", "a"));
        draft.create(aSidecar("shop", "b"));
      });
      const half = durable.transact((draft) => {
        draft.delete(aSidecar("shop", "a").key);
        draft.create(aSidecar("shop", "b"));
      });
      await assert.rejects(half, { code: "STORE_ALREADY_EXISTS" });
      await durable.transact((draft) => draft.create(aSidecar("shop", "c")), { dryRun: true });
      assert.deepEqual(
        reported.map(({ puts }) => keys(puts)),
        [["Sidecar/shop/a", "Sidecar/shop/b"]],
      );
      assert.deepEqual(keys(durable.all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
      assert.deepEqual(keys((await open(await bus.keyValue("config"))).all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    }));

  it("of a writer that ended before their objects were written are whole for the next", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const dying = await open(headOnly(values));
      void dying.transact((draft) => {
        draft.create(aSidecar("shop", "a"));
        draft.create(aSidecar("shop", "b"));
      });
      while ((await values.get("head")) === undefined) await new Promise(setImmediate);
      const next = await open(values);
      assert.deepEqual(keys(next.all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
      await next.transact((draft) => draft.create(aSidecar("shop", "c")));
      assert.deepEqual(keys((await open(values)).all()), ["Sidecar/shop/a", "Sidecar/shop/b", "Sidecar/shop/c"]);
    }));

  it("of several replicas lose nothing of each other", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const replicas = await Promise.all([open(values), open(values), open(values)]);
      const stop = new AbortController();
      const following = replicas.map((replica) => replica.follow(stop.signal));
      const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
      await Promise.all(
        names.map((name, index) => replicas[index % 3]?.transact((draft) => draft.create(aSidecar("shop", name)))),
      );
      await replicas[0]?.store.delete(aSidecar("shop", "n0").key);
      const expected = keys(names.slice(1).map((name) => aSidecar("shop", name)));
      while (replicas.some((replica) => replica.version < 31)) await new Promise(setImmediate);
      for (const replica of replicas) assert.deepEqual(keys(replica.all()), expected);
      assert.deepEqual(keys((await open(values)).all()), expected);
      stop.abort();
      await Promise.all(following);
    }));

  it("that the bus may have taken although it did not say so count when it did", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      let fails = true;
      const update: KeyValue["update"] = async (key, value, revision) => {
        const made = await values.update(key, value, revision);
        if (key === "head" && fails) throw new Error("the answer was lost");
        return made;
      };
      const durable = await open({ ...values, update });
      await durable.store.create(aSidecar("shop", "a"));
      fails = false;
      await durable.store.create(aSidecar("shop", "b"));
      const deaf = { ...values, update: () => Promise.reject(new Error("503")) };
      const away = await open(deaf);
      await assert.rejects(away.store.create(aSidecar("shop", "c")), { code: "STORE_AWAY", status: 503 });
      assert.deepEqual(keys(away.all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    }));

  it("that a second attempt finds stored already are ours, and no conflict", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const update: KeyValue["update"] = async (key, value, revision) => {
        const made = await values.update(key, value, revision);
        return key === "head" ? values.update(key, value, revision) : made;
      };
      const durable = await open({ ...values, update });
      await durable.store.create(aSidecar("shop", "a"));
      await durable.store.create(aSidecar("shop", "b"));
      assert.deepEqual([durable.version, keys(durable.all()).length], [2, 2]);
    }));

  it("are written again when the bus has lost everything", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const durable = await open(values);
      await durable.store.create(aSidecar("shop", "a"));
      for (const { key } of await values.entries()) await values.delete(key);
      await durable.store.create(aSidecar("shop", "b"));
      assert.deepEqual(keys((await open(values)).all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    }));

  it("that were lost are all named, when some were written again by a comparison that failed then", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      let isFailing = false;
      const update: KeyValue["update"] = (key, value, revision) =>
        isFailing && key !== "object/Sidecar/shop/a"
          ? Promise.reject(new Error("no answer"))
          : values.update(key, value, revision);
      const durable = await open({ ...values, update });
      for (const name of ["a", "b"]) await durable.store.create(aSidecar("shop", name));
      for (const { key } of await values.entries()) await values.delete(key);
      isFailing = true;
      await assert.rejects(durable.compare(), { code: "STORE_AWAY" });
      assert.notEqual(await values.get("object/Sidecar/shop/a"), undefined);
      isFailing = false;
      assert.deepEqual([...(await durable.compare())].sort(), ["Sidecar/shop/a", "Sidecar/shop/b"]);
      assert.deepEqual(await durable.compare(), []);
    }));
});

describe("bounds of the durable store", () => {
  it("refuse what is too large, too much and too many at a time, and change nothing then", () =>
    withBus(async (bus) => {
      const durable = await open(await bus.keyValue("config"), { maxBytes: 4_000, maxObjects: 2, maxWaiting: 2 });
      const noise = Array.from({ length: 3_000 }, (_, index) => ((index * 7_919) % 104_729).toString(36)).join(" ");
      const large = { ...aSidecar("shop", "large"), annotations: { noise } };
      await assert.rejects(durable.store.create(large), { code: "STORE_TOO_LARGE", status: 413 });
      const many = ["a", "b", "c"].map((name) => durable.store.create(aSidecar("shop", name)));
      const codes = (await Promise.allSettled(many)).map((one) => (one.status === "rejected" ? one.reason.code : ""));
      assert.deepEqual(codes, ["", "", "STORE_BUSY"]);
      await assert.rejects(durable.store.create(aSidecar("shop", "c")), { code: "STORE_TOO_LARGE" });
      assert.deepEqual(keys(durable.all()), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    }));

  it("Secrets rest sealed, and are refused without a key", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const secret = aConfig("Secret", "shop", "tls", { data: { key: "a2VlcA==" } });
      await assert.rejects((await open(values)).store.create(secret), { code: "STORE_INVALID" });
      const durable = await open(values, { seal: createSeal("a key") });
      await durable.transact((draft) => [draft.create(secret), draft.create(aSidecar("shop", "a"))]);
      for (const { value } of await values.entries())
        assert.equal(zstdDecompressSync(value ?? "").includes("a2VlcA=="), false);
      const all = ["Secret/shop/tls", "Sidecar/shop/a"];
      assert.deepEqual(keys((await open(values, { seal: createSeal("a key") })).all()), all);
      for (const seal of [undefined, createSeal("another key")]) {
        const other = await open(values, { seal });
        assert.deepEqual(keys(other.all()), ["Sidecar/shop/a"]);
        assert.deepEqual(other.problems(), [{ object: "Secret/shop/tls", reason: "is sealed with another key" }]);
        await other.store.patch(aSidecar("shop", "a").key, (current) => ({
          ...current,
          labels: { seen: seal === undefined ? "none" : "another" },
        }));
      }
      assert.deepEqual(keys((await open(values, { seal: createSeal("a key") })).all()), all);
    }));

  it("Secrets of a writer that ended too early are handed on by those who cannot read them", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const seal = createSeal("a key");
      const dying = await open(headOnly(values), { seal });
      void dying.store.create(aConfig("Secret", "shop", "tls", { data: {} }));
      while ((await values.get("head")) === undefined) await new Promise(setImmediate);
      await (await open(values)).store.create(aSidecar("shop", "a"));
      assert.deepEqual(keys((await open(values, { seal })).all()), ["Secret/shop/tls", "Sidecar/shop/a"]);
    }));

  it("one value that is damaged is reported and passed over", () =>
    withBus(async (bus) => {
      const values = await bus.keyValue("config");
      const durable = await open(values);
      for (const name of ["a", "b"]) await durable.store.create(aSidecar("shop", name));
      await values.put("object/Sidecar/shop/a", Buffer.from("no object"));
      const next = await open(values);
      assert.deepEqual(keys(next.all()), ["Sidecar/shop/b"]);
      assert.match(next.problems()[0]?.reason ?? "", /^is damaged/);
      await next.store.create(aSidecar("shop", "a"));
      assert.deepEqual([keys(next.all()).length, next.problems(), (await open(values)).problems()], [2, [], []]);
    }));
});

/** Of a writer that ends before it writes the objects. */
function headOnly(values: KeyValue): KeyValue {
  const update: KeyValue["update"] = (key, value, revision) =>
    key === "head" ? values.update(key, value, revision) : new Promise(() => undefined);
  return { ...values, update };
}
