import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Transaction } from "../store/durable/transaction.ts";
import { openTestApi, virtualService } from "./api.fixture.ts";

const url = "/flotilla/v1/apply?fieldManager=cli&namespace=shop";
const list = (...items: readonly object[]) => ({ apiVersion: "v1", kind: "List", items });

describe("several objects at once", () => {
  it("are one transaction, also when they go", async () => {
    await using api = await openTestApi();
    const reported: Transaction[] = [];
    api.durable.onCommit((transaction) => reported.push(transaction));
    const sidecar = {
      apiVersion: "networking.istio.io/v1",
      kind: "Sidecar",
      metadata: { name: "s" },
      spec: { egress: [{ hosts: ["*/*"] }] },
    };
    const first = await api.call("POST", url, list(virtualService("a", "a"), virtualService("b", "b"), sidecar));
    assert.deepEqual(results(first.body), ["created a", "created b", "created s"]);
    const again = await api.call("POST", url, list(virtualService("a", "a"), virtualService("b", "c")));
    assert.deepEqual(results(again.body), ["unchanged a", "configured b"]);
    const gone = await api.call(
      "POST",
      "/flotilla/v1/delete?namespace=shop",
      list(sidecar, virtualService("a", "a"), virtualService("x", "x")),
    );
    assert.deepEqual(
      gone.body.items.map(({ name, result }: { name: string; result: string }) => `${result} ${name}`),
      ["deleted s", "deleted a", "not found x"],
    );
    assert.deepEqual(
      reported.map(({ puts, deletes }) => [puts.length, deletes.length]),
      [
        [3, 0],
        [1, 0],
        [0, 2],
      ],
    );
  });

  it("are kept with the account that wrote them", async () => {
    await using api = await openTestApi();
    const callers: (string | undefined)[] = [];
    api.durable.onCommit(({ caller }) => callers.push(caller));
    await api.call("POST", url, list(virtualService("a", "a")));
    const path = "/apis/networking.istio.io/v1/namespaces/shop/virtualservices/a";
    await api.call("DELETE", path);
    assert.deepEqual(callers, ["test", "test"]);
  });

  it("that another source has are not deleted, and the answer names the source", async () => {
    await using api = await openTestApi();
    const key = { kind: "VirtualService", namespace: "shop", name: "f" };
    const provenance = { source: "file", location: "/mesh/routes.yaml:3" };
    api.files.put({ key, labels: {}, annotations: {}, creationTimeMs: 0, spec: {}, provenance });
    const { body } = await api.call("POST", "/flotilla/v1/delete?namespace=shop", list(virtualService("f", "f")));
    const [{ result, inForce }] = body.items;
    assert.deepEqual([result, inForce.source, inForce.location], ["not found", "file", "/mesh/routes.yaml:3"]);
  });

  it("are refused together, with what is wrong with each", async () => {
    await using api = await openTestApi();
    const wrong = { ...virtualService("b", "b"), spec: { hosts: 5 } };
    const refused = await api.call("POST", url, list(virtualService("a", "a"), wrong, virtualService("C", "c")));
    assert.equal(refused.status, 422);
    const fields = refused.body.details.causes.map(({ field }: { field: string }) => field);
    assert.deepEqual(fields, ["items[1].spec.hosts", "items[2].metadata.name"]);
    assert.equal(api.durable.version, 0);
    const unknown = await api.call(
      "POST",
      url,
      list({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } }),
    );
    assert.match(unknown.body.message, /apps\/v1 Deployment is no kind that is served here/);
    assert.match(
      (await api.call("POST", url, list(virtualService("a", "a"), virtualService("a", "a")))).body.message,
      /more than once/,
    );
    assert.equal((await api.call("POST", url, virtualService("a", "a"))).status, 400);
    assert.equal((await api.call("POST", `${url}&dryRun=All`, list(virtualService("a", "a")))).status, 200);
    assert.equal(api.durable.version, 0);
  });
});

describe("objects of foreign kinds in a list", () => {
  const deployment = (name: string) => ({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name } });
  const rollout = { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", metadata: { name: "r" } };

  it("are counted by kind, and the others are applied", async () => {
    await using api = await openTestApi();
    const items = [deployment("a"), virtualService("a", "a"), deployment("b"), rollout];
    const { status, body } = await api.call("POST", url, list(...items));
    assert.equal(status, 200);
    assert.deepEqual(results(body), ["created a"]);
    assert.deepEqual(body.ignored, [
      { apiVersion: "apps/v1", kind: "Deployment", count: 2 },
      { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", count: 1 },
    ]);
  });

  it("do not move the places that refusals name", async () => {
    await using api = await openTestApi();
    const wrong = { ...virtualService("b", "b"), spec: { hosts: 5 } };
    const { body } = await api.call("POST", url, list(deployment("a"), wrong));
    assert.deepEqual(
      body.details.causes.map(({ field }: { field: string }) => field),
      ["items[1].spec.hosts"],
    );
  });

  it("are no excuse for a kind of the mesh that is misspelt", async () => {
    await using api = await openTestApi();
    const typo = { ...virtualService("a", "a"), kind: "VirtualServce" };
    const { status, body } = await api.call("POST", url, list(virtualService("b", "b"), typo));
    assert.equal(status, 400);
    assert.match(body.message, /VirtualServce is no kind that is known here: is VirtualService meant\?/);
  });
});

describe("an object that has no effect", () => {
  const route = {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "f" },
    spec: { parentRefs: [{ group: "mesh.example", kind: "Mesh", name: "all" }] },
  };
  const warning = /^HTTPRoute shop\/f has no effect: it has no Gateway, ListenerSet, Service or ServiceEntry/;

  it("is accepted with a warning, in a list and by itself", async () => {
    await using api = await openTestApi();
    const { body } = await api.call("POST", url, list(route));
    assert.deepEqual(results(body), ["created f"]);
    assert.match(body.items[0].warnings[0], warning);
    const path = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes";
    const created = await api.call("POST", path, { ...route, metadata: { name: "g" } });
    assert.equal(created.status, 201);
    assert.match(created.warnings[0] ?? "", /^HTTPRoute shop\/g has no effect/);
  });
});

function results(body: {
  readonly items: readonly {
    readonly result: string;
    readonly object: { readonly metadata: { readonly name: string } };
  }[];
}): readonly string[] {
  return body.items.map(({ result, object }) => `${result} ${object.metadata.name}`);
}
