/** Writes that are collected and judged one after the other: each sees those before it, the table none of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { aConfig } from "../config-store.conformance.ts";
import { ConfigTable } from "../config-table.ts";
import { Draft } from "./draft.ts";

const object = (name: string, spec: object = {}) => aConfig("Sidecar", "shop", name, spec);

/** Over a table with `a` of version 1. */
function aDraft(maxObjects = 10) {
  const table = new ConfigTable();
  const held: Config = { ...object("a"), resourceVersion: "1", generation: 1 };
  table.put(held);
  const stamp = { resourceVersion: "2", nowMs: 5_000, source: "api" };
  return { draft: new Draft({ table, stamp, count: table.size, maxObjects }), table, held };
}

describe("a draft", () => {
  it("shows its writes, over the objects that are held", () => {
    const { draft, table, held } = aDraft();
    assert.deepEqual(draft.get(held.key), held);
    const made = draft.create(object("b"));
    assert.deepEqual([made.resourceVersion, made.generation, made.creationTimeMs], ["2", 1, 5_000]);
    assert.deepEqual(draft.get(made.key), made);
    const changed = draft.update({ ...made, spec: { changed: true } });
    assert.deepEqual([draft.get(made.key), changed.spec], [changed, { changed: true }]);
    assert.deepEqual(draft.delete(held.key), held);
    assert.equal(draft.get(held.key), undefined);
    assert.deepEqual([table.size, table.get(held.key)], [1, held]);
    assert.deepEqual(draft.edit(), { puts: [changed], deletes: [held.key] });
  });

  it("is no edit where it changes nothing", () => {
    const { draft, held } = aDraft();
    draft.update(held);
    const made = draft.create(object("b"));
    draft.delete(made.key);
    assert.deepEqual(draft.edit(), { puts: [], deletes: [] });
  });

  it("writes the status by itself", () => {
    const { draft, held } = aDraft();
    const reported = draft.updateStatus({ ...held, spec: { ignored: true }, status: { ok: true } });
    assert.deepEqual([reported.spec, reported.status, reported.resourceVersion], [{}, { ok: true }, "2"]);
    assert.deepEqual(draft.edit().puts, [reported]);
  });

  it("has a deleted object anew after it was created again", () => {
    const { draft, held } = aDraft();
    draft.delete(held.key);
    assert.throws(() => draft.update(held), { code: "STORE_NOT_FOUND" });
    assert.throws(() => draft.delete(held.key), { code: "STORE_NOT_FOUND" });
    const made = draft.create(object("a"));
    assert.deepEqual(draft.edit(), { puts: [made], deletes: [] });
  });

  it("refuses what is there already, and versions that are not the last", () => {
    const { draft, held } = aDraft();
    assert.throws(() => draft.create(object("a")), { code: "STORE_ALREADY_EXISTS" });
    assert.throws(() => draft.update({ ...held, resourceVersion: "0" }), { code: "STORE_CONFLICT" });
    assert.throws(() => draft.updateStatus({ ...held, resourceVersion: "0" }), { code: "STORE_CONFLICT" });
    assert.throws(() => draft.delete(held.key, { resourceVersion: "0" }), { code: "STORE_CONFLICT" });
    assert.deepEqual(draft.edit(), { puts: [], deletes: [] });
  });

  it("holds as many objects as the store may, with those that it deletes", () => {
    const { draft, held } = aDraft(2);
    draft.create(object("b"));
    assert.throws(() => draft.create(object("c")), { code: "STORE_TOO_LARGE", message: /api holds 2 objects at most/ });
    draft.delete(held.key);
    draft.create(object("c"));
    assert.throws(() => draft.create(object("d")), { code: "STORE_TOO_LARGE" });
    assert.deepEqual(
      draft.edit().puts.map(({ key }) => key.name),
      ["b", "c"],
    );
  });
});
