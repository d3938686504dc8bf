/** Keys of objects as text, and Istio's order of precedence. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareByAge, configKeyText, parseConfigKey } from "./config.ts";

describe("the key of an object", () => {
  it("is a text of three parts, and back", () => {
    const key = { kind: "Gateway", namespace: "shop", name: "edge" };
    assert.equal(configKeyText(key), "Gateway/shop/edge");
    assert.deepEqual(parseConfigKey("Gateway/shop/edge"), key);
    assert.deepEqual(parseConfigKey("Namespace//shop"), { kind: "Namespace", namespace: "", name: "shop" });
  });
  for (const text of ["", "Gateway", "Gateway/shop", "Gateway/shop/edge/more"])
    it(`is not ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseConfigKey(text), { name: "RangeError", message: /is not Kind\/namespace\/name/ });
    });
});

describe("precedence", () => {
  const object = (namespace: string, name: string, creationTimeMs: number) => ({
    ...{ key: { kind: "Gateway", namespace, name }, creationTimeMs },
  });
  it("is by age, then by name, then by namespace", () => {
    const sorted = [object("b", "a", 2), object("a", "b", 1), object("b", "a", 1), object("a", "a", 1)].sort(
      compareByAge,
    );
    assert.deepEqual(
      sorted.map(({ key, creationTimeMs }) => `${creationTimeMs} ${key.namespace}/${key.name}`),
      ["1 a/a", "1 b/a", "1 a/b", "2 b/a"],
    );
  });
});
