import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RegistryInput } from "@flotilla/registry";
import { countedInput, digestOf, goneInput } from "./shard-of-input.ts";

const object = (resourceVersion?: string) => ({
  ...{ apiVersion: "v1", kind: "Service", spec: {} },
  metadata: { name: "a", namespace: "shop", ...(resourceVersion !== undefined && { resourceVersion }) },
});
const put = (more: object = {}) =>
  ({ type: "object", op: "put", object: object("7"), ...more }) as unknown as RegistryInput;
const key = { kind: "Service", namespace: "shop", name: "a" };
const consulKey = { datacenter: "dc1", namespace: "", partition: "", service: "web" };
const consul = (...ids: readonly string[]) =>
  ({
    type: "consul",
    op: "put",
    key: consulKey,
    instances: ids.map((id) => ({ node: "n", id })),
  }) as unknown as RegistryInput;

describe("an input that is counted", () => {
  const text = "Kubernetes/own Service/shop/a";
  it("is an object by its version, of its cluster or the own one", () => {
    assert.deepEqual(countedInput(put(), "own"), { shard: "Kubernetes/own", text, digest: "7" });
    assert.deepEqual(countedInput(put({ cluster: "east" }), "own"), {
      ...{ shard: "Kubernetes/east", text: "Kubernetes/east Service/shop/a", digest: "7" },
    });
    const plain = countedInput(put({ object: object() }), "own");
    assert.deepEqual(plain, { shard: "Kubernetes/own", text, digest: digestOf(object()) });
    const gone = { type: "object", op: "delete", key } as unknown as RegistryInput;
    assert.deepEqual(countedInput(gone, "own"), { shard: "Kubernetes/own", text, digest: undefined });
  });

  it("is a service of Consul, whatever the order of its instances", () => {
    const [one, other, more] = [consul("1", "2"), consul("2", "1"), consul("1")].map((input) =>
      countedInput(input, "own"),
    );
    assert.equal(one?.shard, "Consul/dc1");
    assert.deepEqual(one, other);
    assert.notEqual(one?.digest, more?.digest);
    assert.equal(one?.text, more?.text);
    const gone = { type: "consul", op: "delete", key: consulKey } as unknown as RegistryInput;
    for (const input of [consul(), gone]) assert.deepEqual(countedInput(input, "own"), { ...one, digest: undefined });
  });

  it("is no configuration", () => {
    const config = { type: "config" } as unknown as RegistryInput;
    assert.equal(countedInput(config, "own"), undefined);
    assert.throws(() => goneInput(config), /inputs of type config are not counted/);
  });

  it("is gone by its name", () => {
    assert.deepEqual(goneInput(put()), { type: "object", op: "delete", key });
    assert.deepEqual(goneInput(put({ cluster: "east" })), { type: "object", op: "delete", key, cluster: "east" });
    assert.deepEqual(goneInput({ type: "object", op: "delete", key } as never), { type: "object", op: "delete", key });
    assert.deepEqual(goneInput(consul("1")), { type: "consul", op: "delete", key: consulKey });
  });
});

it("digests are short, and differ with the content", () => {
  assert.match(digestOf({ a: 1 }), /^[\w-]{22}$/);
  assert.notEqual(digestOf({ a: 1 }), digestOf({ a: 2 }));
});
