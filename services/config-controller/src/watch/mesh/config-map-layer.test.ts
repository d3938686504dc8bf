/** MeshConfig in a ConfigMap of an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { isObject } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import type { DocumentCheck } from "@flotilla/sources";
import { configMapDocument, configMapLayer } from "./config-map-layer.ts";

const path = "/api/v1/namespaces/mesh/configmaps/istio";
const noNumbers: DocumentCheck = (value) =>
  isObject(value) && typeof value["trustDomain"] === "number" ? [{ field: "trustDomain", reason: "is no text" }] : [];
const place = { namespace: "mesh", name: "istio", key: "mesh" };
const map = (mesh: string) => ({ data: { mesh, other: "trustDomain: another" } });

interface Layer {
  /** The received documents, in order. */
  readonly documents: readonly object[];
  reasons(): readonly string[];
}

async function following(memory: MemoryApi, check: (layer: Layer) => Promise<void>) {
  const stop = new AbortController();
  let reports = 0;
  const layer = configMapLayer({
    ...{ api: memory.api, ...place, check: noNumbers, log: noopLogger, nowMs: () => 7, random: () => 0 },
    onProblems: () => {
      reports += 1;
    },
  });
  const documents: object[] = [];
  const running = (async () => {
    for await (const { document, eventTimeMs } of layer.versions(stop.signal)) {
      assert.equal(eventTimeMs, 7);
      documents.push(document);
    }
  })();
  try {
    await check({ documents, reasons: () => layer.problems().map(({ reason }) => reason) });
  } finally {
    stop.abort();
    await running;
    await layer[Symbol.asyncDispose]();
  }
  assert.ok(reports > 0, "problems are reported");
}

const eventually = (what: string, holds: () => boolean) => until(holds, { withinMs: 20_000, everyMs: 2, what });

describe("a document in a ConfigMap", () => {
  test("is what stands under its key, and follows it", async () => {
    const memory = createMemoryApi({ [path]: map("trustDomain: first") });
    await following(memory, async ({ documents }) => {
      await eventually("the first version", () => documents.length === 1);
      memory.put(path, { ...map("trustDomain: first"), metadata: { labels: { changed: "yes" } } });
      memory.put(path, map("trustDomain: second"));
      await eventually("the second version", () => documents.length === 2);
      assert.deepEqual(documents, [{ trustDomain: "first" }, { trustDomain: "second" }]);
    });
  });

  test("is empty where there is none, until there is one", async () => {
    const memory = createMemoryApi();
    await following(memory, async ({ documents, reasons }) => {
      await eventually("the empty version", () => documents.length === 1);
      memory.put(path, map("trustDomain: first"));
      await eventually("the first version", () => documents.length === 2);
      assert.deepEqual([documents, reasons()], [[{}, { trustDomain: "first" }], []]);
    });
  });

  test("stays the last good one while the text is wrong", async () => {
    const memory = createMemoryApi({ [path]: map("trustDomain: first") });
    await following(memory, async ({ documents, reasons }) => {
      await eventually("the first version", () => documents.length === 1);
      memory.put(path, map("trustDomain: 7"));
      await eventually("a problem", () => reasons().includes("is no text"));
      memory.put(path, map("trustDomain: third"));
      await eventually("the third version", () => documents.length === 2);
      assert.deepEqual([documents.at(-1), reasons()], [{ trustDomain: "third" }, []]);
    });
  });

  test("stays when the ConfigMap is deleted, with a problem", async () => {
    const memory = createMemoryApi({ [path]: map("trustDomain: first") });
    await following(memory, async ({ documents, reasons }) => {
      await eventually("the first version", () => documents.length === 1);
      memory.remove(path);
      await eventually("a problem", () => reasons().some((reason) => reason.startsWith("is gone")));
      assert.equal(documents.length, 1);
      memory.put(path, map("trustDomain: first"));
      await eventually("no problem", () => reasons().length === 0);
      assert.equal(documents.length, 1);
    });
  });

  test("has no problem any more when a ConfigMap that was wrong from the start is deleted", async () => {
    const memory = createMemoryApi();
    await following(memory, async ({ documents, reasons }) => {
      await eventually("the empty version", () => documents.length === 1);
      memory.put(path, map("trustDomain: 7"));
      await eventually("a problem", () => reasons().includes("is no text"));
      memory.remove(path);
      await eventually("another state", () => !reasons().includes("is no text"));
      assert.deepEqual([documents, reasons()], [[{}], []]);
    });
  });

  const now: readonly (readonly [name: string, stored: Readonly<Record<string, object>>, document: object])[] = [
    ["is read once as it is", { [path]: map("trustDomain: first") }, { trustDomain: "first" }],
    ["is empty without the ConfigMap", {}, {}],
    ["is empty without its key", { [path]: { data: { other: "a: b" } } }, {}],
    ["is empty where it is wrong", { [path]: map("trustDomain: 7") }, {}],
  ];
  for (const [name, stored, document] of now)
    test(name, async () => {
      const { api } = createMemoryApi(stored);
      assert.deepEqual(await configMapDocument({ api, ...place }, noNumbers), document);
    });
});
