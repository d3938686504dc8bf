/** Names of objects as people read them, and names that may have a namespace of their own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  clusterOfService,
  fullName,
  meshObject,
  nameIn,
  objectTitle,
  remoteService,
  serviceKeyOf,
} from "./mesh-object.ts";

describe("the name of an object", () => {
  it("has its namespace where there is one", () => {
    assert.equal(fullName({ namespace: "shop", name: "a" }), "shop/a");
    assert.equal(fullName({ namespace: "", name: "a" }), "a");
    assert.equal(objectTitle({ kind: "Gateway", namespace: "shop", name: "a" }), "Gateway shop/a");
  });
  for (const { text, is } of [
    { text: "a", is: { namespace: "shop", name: "a" } },
    { text: "other/a", is: { namespace: "other", name: "a" } },
    { text: "/a", is: { namespace: "", name: "a" } },
    { text: "other/a/b", is: { namespace: "other", name: "a/b" } },
  ])
    it(`within shop is ${is.namespace}/${is.name} for ${text}`, () => assert.deepEqual(nameIn("shop", text), is));
});

describe("a Service of another cluster", () => {
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "shop" } };
  it("has a kind of its own, with its cluster and its key there", () => {
    const found = remoteService("west", service);
    assert.ok(found !== undefined);
    assert.deepEqual(found.key, { kind: "RemoteService", namespace: "shop", name: "web@west" });
    assert.equal(clusterOfService(found), "west");
    assert.deepEqual(serviceKeyOf(found), { kind: "Service", namespace: "shop", name: "web" });
  });
  it("is none of this cluster, and no other object", () => {
    const own = meshObject(service);
    assert.ok(own !== undefined);
    assert.equal(clusterOfService(own), undefined);
    assert.equal(serviceKeyOf(own), own.key);
    assert.equal(remoteService("west", { ...service, kind: "Pod" }), undefined);
    assert.equal(remoteService("west", "text"), undefined);
  });
});
