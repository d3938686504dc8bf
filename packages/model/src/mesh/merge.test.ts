import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMeshConfig, applyProxyConfig } from "./merge.ts";
import { defaultMeshConfig, type JsonObject } from "./mesh-config.ts";

const cases: readonly { name: string; base: JsonObject; document: JsonObject; expected: JsonObject }[] = [
  {
    name: "a field replaces the one before, null leaves it",
    base: { a: 1, b: { c: 1 } },
    document: { b: { d: 2 }, a: null },
    expected: { a: 1, b: { d: 2 } },
  },
  {
    name: "proxy settings add up, and so does proxy metadata",
    base: { defaultConfig: { statusPort: 1, proxyMetadata: { kept: "1", over: "1" } } },
    document: { defaultConfig: { concurrency: 4, proxyMetadata: { over: "2" } } },
    expected: { defaultConfig: { statusPort: 1, concurrency: 4, proxyMetadata: { kept: "1", over: "2" } } },
  },
  {
    name: "extension providers replace by name or are appended",
    base: { extensionProviders: [{ name: "a", x: 1 }, { name: "b" }] },
    document: { extensionProviders: [{ name: "c" }, { name: "a", x: 2 }] },
    expected: { extensionProviders: [{ name: "a", x: 2 }, { name: "b" }, { name: "c" }] },
  },
  {
    name: "default providers replace by signal",
    base: { defaultProviders: { metrics: ["a"] } },
    document: { defaultProviders: { tracing: ["b"] } },
    expected: { defaultProviders: { metrics: ["a"], tracing: ["b"] } },
  },
  {
    name: "trust domain aliases are a set",
    base: { trustDomainAliases: ["default", "both"] },
    document: { trustDomainAliases: ["added", "both"] },
    expected: { trustDomainAliases: ["added", "both", "default"] },
  },
  {
    name: "both spellings of a field are one field",
    base: { trustDomain: "old" },
    document: { trust_domain: "new" },
    expected: { trustDomain: "new" },
  },
];

for (const { name, base, document, expected } of cases) {
  test(name, () => assert.deepEqual(applyMeshConfig(base, document), expected));
}

test("an empty document changes nothing", () => {
  assert.deepEqual(applyMeshConfig(defaultMeshConfig, {}), defaultMeshConfig);
  assert.deepEqual(applyProxyConfig({ statusPort: 1 }, {}), { statusPort: 1 });
});
