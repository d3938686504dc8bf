/** Objects of one source by kind and key, held as they are or packed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, configKeyText } from "@flotilla/model";
import { aConfig } from "./config-store.conformance.ts";
import { ConfigTable } from "./config-table.ts";

const provenance = { source: "file:mesh", location: "a.yaml:1" };
const shopA = { ...aConfig("Sidecar", "shop", "a", { one: 1 }), provenance };
const bankB = aConfig("Sidecar", "bank", "b", { two: 2 });
const gateway = aConfig("Gateway", "shop", "a", {});
const texts = (configs: Iterable<Config>) => [...configs].map(({ key }) => configKeyText(key)).sort();

for (const isPacked of [false, true])
  describe(`a table of ${isPacked ? "packed" : "whole"} objects`, () => {
    const filled = () => {
      const table = new ConfigTable({ isPacked });
      table.put(shopA, 7);
      table.put(bankB, 8);
      table.put(gateway);
      return table;
    };

    it("has the objects that were put, by kind and key", () => {
      const table = filled();
      assert.deepEqual(table.get(shopA.key), shopA);
      assert.deepEqual(table.get({ ...shopA.key, kind: "Gateway" }), gateway);
      assert.equal(table.get({ ...shopA.key, name: "none" }), undefined);
      assert.equal(table.get({ ...shopA.key, kind: "None" }), undefined);
      assert.deepEqual([table.has(shopA.key), table.has({ ...shopA.key, namespace: "bank" })], [true, false]);
      assert.deepEqual([table.size, table.kinds()], [3, ["Sidecar", "Gateway"]]);
      assert.deepEqual(texts(table.of("Sidecar")), ["Sidecar/bank/b", "Sidecar/shop/a"]);
      assert.deepEqual([...table.keysOf("Sidecar")], [shopA.key, bankB.key]);
      assert.deepEqual([[...table.of("None")], [...table.keysOf("None")], table.held("None")], [[], [], []]);
    });

    it("has an object as it was put last", () => {
      const table = filled();
      const changed = { ...shopA, spec: { one: 2 } };
      table.put(changed);
      assert.deepEqual([table.get(shopA.key), table.size], [changed, 3]);
    });

    it("has no object that was deleted, and no kind without objects", () => {
      const table = filled();
      table.delete(gateway.key);
      assert.deepEqual([table.has(gateway.key), table.kinds(), table.size], [false, ["Sidecar"], 2]);
      table.delete(shopA.key);
      assert.deepEqual([table.has(bankB.key), table.kinds()], [true, ["Sidecar"]]);
      table.delete(gateway.key);
      assert.equal(table.size, 1);
    });

    it("dates objects by the change of their source", () => {
      const table = filled();
      const dated = { ...shopA, provenance: { ...provenance, eventTimeMs: 7 } };
      assert.deepEqual(table.getDated(shopA.key), dated);
      assert.deepEqual(table.getDated(bankB.key), bankB, "without provenance");
      assert.equal(table.getDated({ ...shopA.key, name: "none" }), undefined);
      table.put(shopA);
      assert.deepEqual(table.getDated(shopA.key), shopA, "of an unknown time");
      table.put(dated, 9);
      assert.deepEqual(table.getDated(shopA.key), dated, "with a time of its own");
    });

    it("lists a kind of one namespace or of all", () => {
      const table = filled();
      assert.deepEqual(texts(table.listDated("Sidecar", "")), ["Sidecar/bank/b", "Sidecar/shop/a"]);
      assert.deepEqual(texts(table.listDated("Sidecar", "bank")), ["Sidecar/bank/b"]);
      assert.deepEqual(table.listDated("Sidecar", "shop")[0]?.provenance?.eventTimeMs, 7);
      assert.deepEqual(table.listDated("None", ""), []);
    });

    it("keeps objects that were handed out as they were then", () => {
      const table = filled();
      const held = table.held("Sidecar");
      table.delete(shopA.key);
      assert.deepEqual(
        held.map(({ text, read }) => [text, read()]),
        [
          ["Sidecar/shop/a", shopA],
          ["Sidecar/bank/b", bankB],
        ],
      );
    });
  });
