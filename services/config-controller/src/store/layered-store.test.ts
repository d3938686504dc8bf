import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { aSidecar, configStoreConformance } from "./config-store.conformance.ts";
import { ConfigTable } from "./config-table.ts";
import { layeredStore } from "./layered-store.ts";
import { memoryStore } from "./memory-store.fixture.ts";
import { readOnlyStore } from "./source-store.ts";

const provenance = { source: "file:mesh", location: "mesh/a.yaml:1", eventTimeMs: Date.now() };

function ofFiles(...configs: readonly Config[]) {
  const table = new ConfigTable();
  for (const config of configs) table.put({ ...config, provenance });
  return readOnlyStore("file:mesh", table);
}

describe("several stores as one", () => {
  configStoreConformance(async () => ({
    store: layeredStore("all", [ofFiles(), memoryStore({ name: "memory", nowMs: Date.now })]),
    [Symbol.asyncDispose]: async () => undefined,
  }));
});

describe("read-only stores as one", () => {
  configStoreConformance(async () => {
    const [first, second] = [new ConfigTable(), new ConfigTable()];
    return {
      store: layeredStore("all", [readOnlyStore("first", first), readOnlyStore("second", second)]),
      hasVersions: false,
      seed: async (configs) => {
        for (const [index, config] of configs.entries())
          (index % 2 === 0 ? first : second).put({ ...config, provenance });
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
  });
});

describe("stores with the same object", () => {
  it("show that of the first, and refuse to write what it has, naming both", async () => {
    const writable = memoryStore({ name: "memory", nowMs: Date.now });
    await writable.create({ ...aSidecar("shop", "a"), labels: { from: "memory" } });
    const filed = { ...aSidecar("shop", "a"), labels: { from: "files" } };
    const all = layeredStore("all", [ofFiles(filed, aSidecar("shop", "b")), writable]);
    assert.deepEqual((await all.get(filed.key))?.labels, { from: "files" });
    assert.deepEqual(
      (await all.list("Sidecar", "shop")).map(({ key }) => key.name),
      ["a", "b"],
    );
    const both = /Sidecar\/shop\/\w is in file:mesh, which wins over memory/;
    await assert.rejects(all.create(aSidecar("shop", "b")), { code: "STORE_ALREADY_EXISTS", message: both });
    await assert.rejects(all.update(filed), { code: "STORE_READ_ONLY", message: both });
    await assert.rejects(all.delete(filed.key), { code: "STORE_READ_ONLY", message: both });
    assert.deepEqual((await writable.get(filed.key))?.labels, { from: "memory" });
    await all.create(aSidecar("shop", "c"));
    assert.ok((await writable.get(aSidecar("shop", "c").key)) !== undefined);
  });

  it("write to the one that is writable, its own objects and new ones", async () => {
    const writable = memoryStore({ name: "memory", nowMs: Date.now });
    const all = layeredStore("all", [writable, ofFiles(aSidecar("shop", "b"))]);
    const made = await all.create(aSidecar("shop", "a"));
    const updated = await all.update({ ...made, labels: { app: "new" } });
    assert.deepEqual((await writable.get(made.key))?.labels, { app: "new" });
    const { status } = await all.updateStatus({ ...updated, status: { ok: true } });
    assert.deepEqual(status, { ok: true });
    await all.delete(made.key);
    assert.equal(await all.get(made.key), undefined);
    const refused = { code: "STORE_READ_ONLY", message: /is in file:mesh/ };
    await assert.rejects(all.updateStatus(aSidecar("shop", "b")), refused);
    await assert.rejects(all.update(aSidecar("shop", "none")), { code: "STORE_NOT_FOUND" });
  });

  it("are read only where none is writable, and have one writable store at most", async () => {
    const files = layeredStore("all", [ofFiles(aSidecar("shop", "a")), ofFiles()]);
    assert.equal(files.isWritable, false);
    await assert.rejects(files.create(aSidecar("shop", "b")), { code: "STORE_READ_ONLY" });
    const memory = (name: string) => memoryStore({ name, nowMs: Date.now });
    assert.equal(layeredStore("all", [ofFiles(), memory("one")]).isWritable, true);
    assert.throws(() => layeredStore("all", [memory("one"), memory("two")]), RangeError);
  });
});
