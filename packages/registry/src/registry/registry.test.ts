import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@flotilla/model";
import type { RegistryChange } from "./published.ts";
import { config, gone, node, pod, put, registry, service, slice, sorted } from "./sample-objects.fixture.ts";

const shard = "Kubernetes/Kubernetes";

/** `+hostname` of a service, `hostname: address:port health …` of endpoints, `-hostname` of what is gone. */
function short(changes: readonly RegistryChange[]): readonly string[] {
  return changes.map((change) => {
    if (change.type === "workload") return change.key.uid;
    const host = change.key.hostname.replace(".n.svc.cluster.local", "");
    if (change.op === "delete") return `-${change.type} ${host}`;
    if (change.type === "service") return `+${host}`;
    return `${host}: ${change.value.map(({ addresses, port, health }) => `${addresses[0]}:${port} ${health}`).join(", ")}`;
  });
}

test("a service and its endpoints come from several objects, in any order", () => {
  const objects = [service("a"), pod("p", "10.1.0.1"), slice("a-1", "a", { p: "10.1.0.1" }), node("n1", "r1")];
  const expected = registry().apply(objects.map(put)).changes;
  assert.deepEqual(short(expected), ["+a", "a: 10.1.0.1:8080 healthy"]);
  for (const order of [
    [3, 2, 1, 0],
    [2, 0, 3, 1],
    [1, 3, 0, 2],
  ]) {
    const one = registry();
    for (const index of order) one.apply([put(objects[index] as KubeObject)]);
    assert.deepEqual(sorted(one.state()), sorted(expected));
  }
});

/** Pods of an ExternalName serve its ports. Source: scenario ambient/type-changes. */
test("a service that becomes an ExternalName keeps the endpoints of its slices", () => {
  const one = registry();
  const { changes } = one.apply([service("a"), pod("p", "10.1.0.1"), slice("a-1", "a", { p: "10.1.0.1" })].map(put));
  const endpoints = sorted(changes).filter(({ type }) => type === "endpoints");
  one.apply([put(service("a", { type: "ExternalName", externalName: "a.example", selector: undefined }))]);
  assert.deepEqual(
    sorted(one.state()).filter(({ type }) => type === "endpoints"),
    endpoints,
  );
});

test("an endpoint waits for its pod, and the wait is reported", () => {
  const one = registry();
  assert.deepEqual(short(one.apply([put(service("a")), put(slice("a-1", "a", { p: "10.1.0.1" }))]).changes), ["+a"]);
  assert.deepEqual(
    one.problems().map(({ object, field }) => `${object} ${field}`),
    ["EndpointSlice/n/a-1 endpoints[0].targetRef"],
  );
  assert.deepEqual(short(one.apply([put(pod("p", "10.1.0.1"))]).changes), ["a: 10.1.0.1:8080 healthy"]);
  assert.deepEqual(one.problems(), []);
});

test("problems are looked for again after each input, also one that publishes nothing", () => {
  const one = registry();
  const reported = () => one.problems().map(({ object }) => object);
  const addressless = { ...pod("p", "10.1.0.1"), status: { phase: "Running" } };
  assert.deepEqual(one.problems(), []);
  assert.deepEqual(one.apply([put(addressless)]).changes, []);
  assert.deepEqual(reported(), ["Pod/n/p"]);
  assert.equal(one.problems(), one.problems(), "one list while nothing is applied");
  one.apply([gone("Pod", "p")]);
  assert.deepEqual(reported(), []);
});

test("an address that two services claim is reported as long as both do", () => {
  const one = registry();
  const conflicts = () => one.problems().map(({ reason }) => reason);
  const claimed = "10.0.0.1 belongs to Service/n/a already";
  one.apply([put(service("a")), put(service("b"))]);
  assert.deepEqual(conflicts(), [claimed]);
  one.apply([put(pod("p", "10.1.0.1"))]);
  assert.deepEqual(conflicts(), [claimed], "also behind a change of something else");
  one.apply([put(service("b", { clusterIP: "10.0.0.2" }))]);
  assert.deepEqual(conflicts(), []);
  one.apply([put(service("b"))]);
  assert.deepEqual(conflicts(), [claimed]);
  one.apply([gone("Service", "a")]);
  assert.deepEqual(conflicts(), []);
});

test("an event without a change publishes nothing", () => {
  const one = registry();
  one.apply([service("a"), pod("p", "10.1.0.1"), slice("a-1", "a", { p: "10.1.0.1" })].map(put));
  const annotated = service("a");
  const again = { ...annotated, metadata: { ...annotated.metadata, annotations: { note: "x" } } };
  assert.deepEqual(one.apply([put(again), put(pod("p", "10.1.0.1")), put(pod("other", "10.1.0.9"))]).changes, []);
});

test("losing an endpoint is urgent, gaining one is not", () => {
  const one = registry();
  const two = slice("a-1", "a", { p: "10.1.0.1", q: "10.1.0.2" });
  const start = one.apply([service("a"), pod("p", "10.1.0.1"), pod("q", "10.1.0.2"), two].map(put));
  assert.equal(start.urgent, false);
  assert.equal(one.apply([put(slice("a-1", "a", { p: "10.1.0.1" }))]).urgent, true);
  assert.equal(one.apply([put(two)]).urgent, false);
  assert.equal(one.apply([put(slice("a-1", "a", { p: "10.1.0.1", q: "10.1.0.2" }, false))]).urgent, true);
  const end = one.apply([gone("EndpointSlice", "a-1")]);
  assert.deepEqual(short(end.changes), ["-endpoints a"]);
});

test("a node's region and the trust domain reach the endpoints", () => {
  const one = registry();
  one.apply([service("a"), pod("p", "10.1.0.1"), slice("a-1", "a", { p: "10.1.0.1" })].map(put));
  const [moved] = one.apply([put(node("n1", "r1"))]).changes;
  assert.equal(moved?.type === "endpoints" && moved.op === "put" && moved.value[0]?.locality, "r1//");
  const [renamed] = one.apply([config("MeshConfig", "mesh", { trustDomain: "other" })]).changes;
  assert.equal(
    renamed?.type === "endpoints" && renamed.op === "put" && renamed.value[0]?.serviceAccount,
    "spiffe://other/ns/n/sa/sa",
  );
});

test("selectors reach across: a Service takes WorkloadEntries, a ServiceEntry takes pods", () => {
  const one = registry();
  const entry = {
    hosts: ["e.example"],
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", targetPort: 8888 }],
    workloadSelector: { labels: { app: "a" } },
  };
  const update = one.apply([
    put(service("a")),
    put(pod("p", "10.1.0.1", { app: "a" })),
    config("WorkloadEntry", "vm", { address: "192.0.2.5", labels: { app: "a" }, ports: { http: 9999 } }),
    config("ServiceEntry", "e", entry),
  ]);
  assert.deepEqual(short(update.changes), [
    "+a",
    "+e.example",
    "a: 192.0.2.5:9999 unknown",
    "e.example: 10.1.0.1:8888 healthy, 192.0.2.5:9999 unknown",
  ]);
  const left = one.apply([put(pod("p", "10.1.0.1", { app: "b" }))]);
  assert.deepEqual(short(left.changes), ["e.example: 192.0.2.5:9999 unknown"]);
  assert.equal(left.urgent, true);
});

test("two ServiceEntries of one host are two services that share their endpoints", () => {
  const one = registry();
  const entry = (address: string) => ({
    hosts: ["e.example"],
    resolution: "STATIC",
    ports: [{ number: 80, name: "http" }],
    endpoints: [{ address }],
  });
  const { changes } = one.apply([
    config("ServiceEntry", "a", entry("192.0.2.1")),
    config("ServiceEntry", "b", entry("192.0.2.2")),
  ]);
  assert.deepEqual(short(changes), [
    "+e.example",
    "+e.example",
    "e.example: 192.0.2.1:80 unknown, 192.0.2.2:80 unknown",
  ]);
  const key = { kind: "ServiceEntry", namespace: "n", name: "a" };
  assert.deepEqual(short(one.apply([{ type: "config", op: "delete", key }]).changes), [
    "-service e.example",
    "e.example: 192.0.2.2:80 unknown",
  ]);
});

test("an Endpoints object serves like slices, and adds nothing to slices with the same addresses", () => {
  const one = registry();
  const endpoints = (...subsets: readonly object[]): KubeObject => ({
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "a", namespace: "n" },
    subsets,
  });
  const ports = [{ name: "http", port: 8080 }];
  const start = one.apply([
    put(service("a")),
    put(endpoints({ addresses: [{ ip: "10.1.0.1" }], notReadyAddresses: [{ ip: "10.1.0.2" }], ports })),
  ]);
  assert.deepEqual(short(start.changes), ["+a", "a: 10.1.0.1:8080 healthy, 10.1.0.2:8080 unhealthy"]);
  assert.deepEqual(one.apply([put(slice("a-1", "a", {}))]).changes, []);
  assert.deepEqual(short(one.apply([put(endpoints())]).changes), ["-endpoints a"]);
});

test("kinds of the same name in other groups are passed over", () => {
  const knative = { ...service("a"), apiVersion: "serving.knative.dev/v1" };
  assert.deepEqual(registry().apply([put(knative)]).changes, []);
});

test("each wrong object is reported and the rest goes on", () => {
  const one = registry();
  one.apply([
    put(
      service("a", {
        ports: [
          { name: "http", port: 0 },
          { name: "ok", port: 81 },
        ],
      }),
    ),
    put(service("b")),
    put(slice("x-1", "x", {})),
    put({ ...pod("p", ""), metadata: { name: "p", namespace: "n" } }),
    config("ServiceEntry", "e", { hosts: ["e.example"], addresses: ["nonsense"], ports: [{ number: 80 }] }),
    config("WorkloadEntry", "vm", {}),
  ]);
  assert.deepEqual(
    one.problems().map(({ object, field, reason }) => `${object} ${field} ${reason}`),
    [
      "Service/n/a spec.ports[0] 0 is no port: must be 1 to 65535",
      "EndpointSlice/n/x-1 metadata.labels there is no Service n/x",
      "Pod/n/p status.podIP is empty, and the pod is running",
      'ServiceEntry/n/e spec.addresses[0] "nonsense" is neither an address nor a range',
      "WorkloadEntry/n/vm spec.address is empty, and there is no network through which it could be reached",
      "Service/n/b spec.clusterIP 10.0.0.1 belongs to Service/n/a already",
    ],
  );
  assert.ok(one.state().some(({ key }) => "hostname" in key && key.hostname === "a.n.svc.cluster.local"));
});

test("shards are named after registry and cluster", () => {
  const [first] = registry().apply([put(service("a"))]).changes;
  assert.equal(first?.key.shard, shard);
});
