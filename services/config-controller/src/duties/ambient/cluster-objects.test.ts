import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { ClusterObjects, keyOf, pathOf } from "./cluster-objects.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });
const object = (name: string, namespace?: string) => ({
  ...{ apiVersion: "v1", kind: "Service" },
  metadata: { name, ...(namespace !== undefined && { namespace }) },
});

describe("objects of the ambient mesh in a cluster", () => {
  it("are known when every kind has been listed, and follow what changes", async () => {
    const memory = createMemoryApi({
      "/api/v1/namespaces/shop/services/web": object("web", "shop"),
      "/api/v1/namespaces/shop": { ...object("shop"), kind: "Namespace" },
    });
    const stop = new AbortController();
    const objects = new ClusterObjects({ api: memory.api, log: noopLogger, random: () => 0 });
    assert.deepEqual(
      [objects.isKnown, [...objects.all("services")], objects.get("services", "shop/web")],
      [false, [], undefined],
    );
    const running = objects.run(stop.signal);
    await until(() => objects.isKnown, soon("the lists"));
    const names = (of: Parameters<ClusterObjects["all"]>[0]) =>
      [...objects.all(of)].map(({ metadata }) => metadata.name);
    assert.deepEqual([names("services"), names("namespaces"), names("gateways")], [["web"], ["shop"], []]);
    assert.equal(objects.get("services", "shop/web")?.metadata.name, "web");
    assert.equal(objects.get("namespaces", "shop")?.metadata.name, "shop");
    assert.equal(objects.get("services", "web"), undefined);
    while (await objects.changes.wait(stop.signal, 0));
    memory.put("/api/v1/namespaces/shop/services/api", object("api", "shop"));
    assert.equal(await objects.changes.wait(stop.signal), true);
    await until(() => objects.get("services", "shop/api") !== undefined, soon("the new one"));
    memory.remove("/api/v1/namespaces/shop/services/web");
    await until(() => names("services").length === 1, soon("the removal"));
    stop.abort();
    await running;
  });

  it("are named with their namespace, where they have one", () => {
    assert.deepEqual([object("web", "shop"), object("web", ""), object("web")].map(keyOf), ["shop/web", "web", "web"]);
    assert.equal(keyOf({ metadata: {} }), "");
  });

  it("stand at their paths", () => {
    assert.equal(pathOf("services", object("a b", "sh/op")), "/api/v1/namespaces/sh%2Fop/services/a%20b");
    assert.equal(
      pathOf("policies", object("a", "shop")),
      "/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies/a",
    );
  });
});
