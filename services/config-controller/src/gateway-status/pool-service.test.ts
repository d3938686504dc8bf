/** The Service in front of an InferencePool, in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type InferencePoolSpec, poolService, poolServiceName } from "@flotilla/gateway-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import type { Config } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { keepPoolService, sha256 } from "./pool-service.ts";

const name = poolServiceName("llm", sha256);
const path = `/api/v1/namespaces/ai/services/${name}`;

function pool(spec: Partial<InferencePoolSpec> = {}): Config<InferencePoolSpec> {
  const whole = {
    selector: { matchLabels: { app: "llm" } },
    targetPorts: [{ number: 8000 }],
    endpointPickerRef: { name: "picker", port: { number: 9002 } },
    ...spec,
  };
  const key = { kind: "InferencePool", namespace: "ai", name: "llm" };
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: whole as InferencePoolSpec };
}

describe("the Service of an InferencePool", () => {
  test("is made with the pool as its owner, and not written again", async () => {
    const memory = createMemoryApi();
    const target = { api: memory.api, log: noopLogger };
    assert.equal(await keepPoolService(target, pool(), "pool-uid"), true);
    const { metadata, spec } =
      memory.read<{ metadata: Record<string, unknown>; spec: Record<string, unknown> }>(path) ?? {};
    assert.deepEqual(metadata?.["ownerReferences"], [
      { apiVersion: "inference.networking.k8s.io/v1", kind: "InferencePool", name: "llm", uid: "pool-uid" },
    ]);
    assert.deepEqual(spec?.["selector"], { app: "llm" });
    assert.equal(spec?.["clusterIP"], "None");
    assert.equal(await keepPoolService(target, pool(), "pool-uid"), false);
    assert.equal(memory.writes.length, 1);
  });

  const wanted = poolService(pool(), name);
  const [port] = wanted?.spec.ports ?? [];
  const changes: readonly { readonly name: string; readonly stored: object; readonly isWritten: boolean }[] = [
    {
      name: "defaults that the API server added",
      stored: { spec: { ports: [{ ...port, nodePort: 0 }] } },
      isWritten: false,
    },
    { name: "another selector", stored: { spec: { selector: { app: "other" } } }, isWritten: true },
    { name: "another port", stored: { spec: { ports: [{ ...port, port: 1 }] } }, isWritten: true },
    { name: "one port more", stored: { spec: { ports: [port, { ...port, port: 1 }] } }, isWritten: true },
    { name: "no spec", stored: { spec: undefined }, isWritten: true },
  ];
  for (const { name: text, stored, isWritten } of changes)
    test(`is ${isWritten ? "" : "not "}written over ${text}`, async () => {
      const { spec } = stored as { readonly spec?: object };
      const found = { ...wanted, spec: spec === undefined ? undefined : { ...wanted?.spec, ...spec } };
      const memory = createMemoryApi({ [path]: found });
      assert.equal(await keepPoolService({ api: memory.api, log: noopLogger }, pool(), "uid"), isWritten);
      assert.equal(memory.writes.length, isWritten ? 1 : 0);
    });

  test("that somebody else made is left alone", async () => {
    const memory = createMemoryApi({ [path]: { metadata: { labels: { app: "mine" } }, spec: {} } });
    assert.equal(await keepPoolService({ api: memory.api, log: noopLogger }, pool(), "uid"), false);
    assert.deepEqual(memory.writes, []);
  });
});
