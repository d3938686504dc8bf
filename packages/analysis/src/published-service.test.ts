/** Published services as objects of the mesh: which object each is, and what a change of one of several clusters changes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Service, ServiceChange } from "@flotilla/model";
import type { ObjectChange } from "./mesh-analysis.ts";
import { objectTitle } from "./mesh-object.ts";
import { PublishedServices } from "./published-service.ts";

function service(over: Partial<Service> = {}): Service {
  return {
    ...{ name: "web", namespace: "shop", hostname: "web.shop.svc.cluster.local", registry: "Kubernetes" },
    ...{ exportTo: [], labels: { app: "web" }, labelSelectors: { app: "web" } },
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    ...over,
  } as unknown as Service;
}

function change(op: "put" | "delete", shard: string, value = service()): ServiceChange {
  const { namespace, hostname, name } = value;
  const key = { shard, namespace, hostname, name };
  return (op === "put"
    ? { type: "service", op, key, value }
    : { type: "service", op, key }) as unknown as ServiceChange;
}

function whole(services: PublishedServices): unknown {
  const [object] = services.objects();
  return object?.whole.value;
}

const short = (changes: readonly ObjectChange[]) =>
  changes.map((one) =>
    "removed" in one && one.removed !== undefined
      ? `- ${objectTitle(one.removed)}`
      : `+ ${"object" in one && one.object !== undefined ? objectTitle(one.object.key) : ""}`,
  );

describe("a published service", () => {
  const cases: readonly (readonly [name: string, over: Partial<Service>, title: string | undefined])[] = [
    ["of Kubernetes is the Service", {}, "Service shop/web"],
    [
      "of another domain stands as a ServiceEntry of its host",
      { hostname: "web.shop.svc.other" as Service["hostname"] },
      "ServiceEntry shop/Kubernetes:web.shop.svc.other",
    ],
    [
      "of another registry too",
      { registry: "Consul", hostname: "web.service.dc1.consul" as Service["hostname"] },
      "ServiceEntry shop/Consul:web.service.dc1.consul",
    ],
    ["of a ServiceEntry is none: analysis has it as configuration", { registry: "External" }, undefined],
  ];
  for (const [name, over, title] of cases)
    it(name, () => {
      const services = new PublishedServices();
      const noted = short(services.note(change("put", "Kubernetes/one", service(over))));
      const expected = title === undefined ? [] : [title];
      assert.deepEqual(
        noted,
        expected.map((one) => `+ ${one}`),
      );
      assert.deepEqual(
        [...services.objects()].map(({ key }) => objectTitle(key)),
        expected,
      );
      assert.equal(services.size, expected.length);
    });

  it("has the parts of the object that checks look at", () => {
    const services = new PublishedServices();
    services.note(change("put", "Kubernetes/one", service({ exportTo: [".", "bank"] as never })));
    const annotations = { "networking.istio.io/exportTo": ".,bank" };
    assert.deepEqual(whole(services), {
      ...{ apiVersion: "v1", kind: "Service", spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] } },
      metadata: { name: "web", namespace: "shop", labels: { app: "web" }, annotations },
    });
    services.note(change("put", "Kubernetes/one"));
    assert.match(JSON.stringify(whole(services)), /"annotations":\{\}/);
  });

  it("of several clusters is that of the first, and stays until the last is gone", () => {
    const services = new PublishedServices();
    const [put, remove] = [(at: string) => change("put", at), (at: string) => change("delete", at)];
    assert.deepEqual(short(services.note(put("Kubernetes/one"))), ["+ Service shop/web"]);
    const other = service({ ports: [{ number: 90, name: "http", protocol: "HTTP" }] as never });
    services.note(change("put", "Kubernetes/two", other));
    const port = () => JSON.stringify([...services.objects()][0]?.whole.value).includes('"port":90');
    assert.deepEqual([services.size, [...services.objects()].length, port()], [2, 1, false]);
    assert.deepEqual(short(services.note(remove("Kubernetes/one"))), ["+ Service shop/web"]);
    assert.ok(port());
    assert.deepEqual(short(services.note(remove("Kubernetes/two"))), ["- Service shop/web"]);
    assert.deepEqual(short(services.note(remove("Kubernetes/two"))), []);
    assert.deepEqual([services.size, [...services.objects()].length], [0, 0]);
  });

  it("that becomes another object leaves the one it was", () => {
    const services = new PublishedServices();
    services.note(change("put", "Kubernetes/one"));
    const { key } = change("put", "Kubernetes/one");
    const moved = { type: "service", op: "put", key, value: service({ registry: "Consul" }) } as ServiceChange;
    assert.deepEqual(short(services.note({ ...moved, value: service({ registry: "External" }) } as ServiceChange)), [
      "- Service shop/web",
    ]);
    services.note(change("put", "Kubernetes/one"));
    const elsewhere = service({ hostname: "web.shop.svc.other" as Service["hostname"] });
    assert.deepEqual(short(services.note({ ...moved, value: elsewhere } as ServiceChange)), [
      "- Service shop/web",
      "+ ServiceEntry shop/Kubernetes:web.shop.svc.other",
    ]);
    services.clear();
    assert.deepEqual([services.size, [...services.objects()]], [0, []]);
  });
});
