import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, Workload } from "@flotilla/model";
import { parseRegistrySettings } from "../settings.ts";
import type { RegistryChange } from "./published.ts";
import { Registry } from "./registry.ts";
import type { RegistryInput } from "./registry-input.ts";
import { config, gone, pod, put, service, slice } from "./sample-objects.fixture.ts";

function ambientRegistry(): Registry {
  return new Registry(parseRegistrySettings({ PILOT_ENABLE_AMBIENT: "true" }));
}

function workloads(changes: readonly RegistryChange[]): readonly string[] {
  return changes.flatMap((change) => {
    if (change.type !== "workload") return [];
    return [change.op === "put" ? `${change.key.uid} ${change.value.addresses.join()}` : `-${change.key.uid}`];
  });
}

function only(changes: readonly RegistryChange[]): Workload {
  const found = changes.flatMap((change) => (change.type === "workload" && change.op === "put" ? [change.value] : []));
  assert.equal(found.length, 1);
  return found[0] as Workload;
}

/** A slice that names addresses and no pods. */
function addresses(name: string, of: string, ...all: readonly string[]): KubeObject {
  return {
    ...slice(name, of, {}),
    endpoints: all.map((address) => ({ addresses: [address] })),
    ports: [{ name: "http", port: 8080 }],
  } as KubeObject;
}

const entry = (spec: object): RegistryInput => config("ServiceEntry", "e", spec);
const endpointsOf = (...all: readonly object[]) => ({
  hosts: ["e.example"],
  resolution: "STATIC",
  ports: [{ number: 80, name: "http", targetPort: 81 }],
  endpoints: all,
});

test("workloads are published only where the mesh is ambient", () => {
  const registry = new Registry(parseRegistrySettings({}));
  assert.deepEqual(workloads(registry.apply([put(pod("p", "10.1.0.1"))]).changes), []);
});

test("a pod is a workload from its address to its end, and equal states say nothing", () => {
  const registry = ambientRegistry();
  const running = pod("p", "10.1.0.1", { app: "a" });
  const ended = { ...running, status: { ...(running as { status?: object }).status, phase: "Succeeded" } };
  const unplaced = { ...running, status: { phase: "Pending" } };
  const steps = [unplaced, running, running, ended].map((object) =>
    workloads(registry.apply([put(object as KubeObject)]).changes),
  );
  assert.deepEqual(steps, [[], ["Kubernetes//Pod/n/p 10.1.0.1"], [], ["-Kubernetes//Pod/n/p"]]);
});

test("the traits of a pod: capture, ports by name, identity, node", () => {
  const object = pod("p", "10.1.0.1");
  const captured = {
    ...object,
    metadata: { ...object.metadata, annotations: { "ambient.istio.io/redirection": "enabled" } },
    spec: { nodeName: "n1", serviceAccountName: "sa", containers: [{ ports: [{ name: "raw", containerPort: 9100 }] }] },
  };
  const { tunnel, ports, serviceAccount, nodeName, isReady } = only(
    ambientRegistry().apply([put(captured as KubeObject)]).changes,
  );
  assert.deepEqual(
    { tunnel, ports, serviceAccount, nodeName, isReady },
    { tunnel: "hbone", ports: { raw: 9100 }, serviceAccount: "sa", nodeName: "n1", isReady: true },
  );
});

test("addresses of a slice without pods are workloads of its Service, whether that selects pods or not", () => {
  const registry = ambientRegistry();
  registry.apply([put(service("s", { selector: undefined })), put(addresses("s-1", "s", "10.2.0.1", "10.2.0.2"))]);
  const [one, two] = ["10.2.0.1", "10.2.0.2"].map(
    (address) => `Kubernetes/discovery.k8s.io/EndpointSlice/n/s-1/${address}`,
  );
  assert.deepEqual(workloads(registry.state()), [`${one} 10.2.0.1`, `${two} 10.2.0.2`]);
  assert.deepEqual(workloads(registry.apply([put(addresses("s-1", "s", "10.2.0.2"))]).changes), [`-${one}`]);
  assert.deepEqual(workloads(registry.apply([put(service("s"))]).changes), []);
  assert.deepEqual(workloads(registry.apply([gone("Service", "s")]).changes), [`-${two}`]);
});

test("an endpoint of a slice is one workload by its first address, unless it is a pod or an address is none", () => {
  const registry = ambientRegistry();
  const endpoints = [
    { addresses: ["10.2.0.1", "10.2.0.2"], targetRef: { kind: "Node", name: "n1" } },
    { addresses: ["10.2.0.1"], conditions: { ready: false } },
    { addresses: ["10.2.0.3"], targetRef: { kind: "Pod", name: "p" } },
    { addresses: ["10.2.0.4", "x"] },
  ];
  const ports = [
    { name: "b", port: 2 },
    { name: "a", port: 1 },
  ];
  const spec = {
    selector: undefined,
    ports: [
      { name: "a", port: 81 },
      { name: "b", port: 82 },
    ],
  };
  const found = only(
    registry.apply([put(service("s", spec)), put({ ...slice("s-1", "s", {}), endpoints, ports })]).changes,
  );
  assert.deepEqual([found.addresses, found.isReady], [["10.2.0.1", "10.2.0.2"], true]);
  assert.deepEqual(found.memberOf?.[0]?.ports, [
    { servicePort: 82, targetPort: 2 },
    { servicePort: 81, targetPort: 1 },
  ]);
});

test("a pod that a slice names is called by the ports of its service, unless an earlier pod was meant", () => {
  const ports = [
    { containerPort: 7001, name: "web" },
    { containerPort: 7002, name: "web" },
  ];
  const besides = { name: "b", restartPolicy: "Always", ports: [{ containerPort: 7003, name: "own" }] };
  const before = { name: "c", ports: [{ containerPort: 7004, name: "first" }] };
  const named = pod("p", "10.1.0.1", { app: "x" });
  const metadata = { ...named.metadata, uid: "now" };
  const spec = { containers: [{ ports }], initContainers: [before, besides] };
  const targets = ["web", "own", "first", undefined, 90].map((targetPort, i) => ({
    name: `p${i}`,
    port: 80 + i,
    targetPort,
  }));
  const portsBy = (uid: string, selector?: object) => {
    const registry = ambientRegistry();
    const targetRef = { kind: "Pod", name: "p", namespace: "n", uid };
    const endpoints = [{ addresses: ["10.1.0.1"], targetRef }];
    registry.apply([put(service("s", { selector, ports: targets })), put({ ...slice("s-1", "s", {}), endpoints })]);
    return only(registry.apply([put({ ...named, metadata, spec })]).changes).memberOf?.[0]?.ports;
  };
  const called = [
    [80, 7001],
    [81, 7003],
    [83, 83],
    [84, 90],
  ].map(([servicePort, targetPort]) => ({ servicePort, targetPort }));
  assert.deepEqual(portsBy("now"), called);
  assert.deepEqual(portsBy("now", { app: "other" }), called);
  assert.equal(portsBy("now", { app: "x" }), undefined);
  assert.equal(portsBy("before"), undefined);
});

test("a pod of whose addresses one is invalid is no workload", () => {
  const odd = pod("p", "10.1.0.1");
  const status = { ...(odd["status"] as object), podIPs: [{ ip: "10.1.0.1" }, { ip: "x" }] };
  assert.deepEqual(workloads(ambientRegistry().apply([put({ ...odd, status })]).changes), []);
});

test("a pod belongs to a Service without a selector whose slice names it", () => {
  const registry = ambientRegistry();
  registry.apply([put(pod("p", "10.1.0.1")), put(service("s", { selector: undefined }))]);
  const { memberOf } = only(registry.apply([put(slice("s-1", "s", { p: "10.1.0.1" }))]).changes);
  assert.equal(memberOf?.[0]?.hostname, "s.n.svc.cluster.local");
  const left = only(registry.apply([gone("EndpointSlice", "s-1")]).changes);
  assert.equal(left.memberOf, undefined);
});

test("an ExternalName that keeps the slice of an earlier type has neither pods nor addresses", () => {
  const registry = ambientRegistry();
  registry.apply([put(pod("p", "10.1.0.1")), put(service("s", { selector: undefined }))]);
  registry.apply([put(slice("s-1", "s", { p: "10.1.0.1" })), put(addresses("s-2", "s", "10.2.0.1"))]);
  const external = service("s", { selector: undefined, type: "ExternalName", externalName: "s.example" });
  const { changes } = registry.apply([put(external)]);
  assert.equal(only(changes).memberOf, undefined);
  assert.deepEqual(workloads(changes).toSorted(), [
    "-Kubernetes/discovery.k8s.io/EndpointSlice/n/s-2/10.2.0.1",
    "Kubernetes//Pod/n/p 10.1.0.1",
  ]);
});

test("the addresses that a ServiceEntry names come and go with it", () => {
  const registry = ambientRegistry();
  const uid = (address: string) => `Kubernetes/networking.istio.io/ServiceEntry/n/e/${address}`;
  const first = registry.apply([entry(endpointsOf({ address: "10.3.0.1", weight: 4 }, { address: "10.3.0.2" }))]);
  assert.deepEqual(workloads(first.changes), [`${uid("10.3.0.1")} 10.3.0.1`, `${uid("10.3.0.2")} 10.3.0.2`]);
  const { changes } = registry.apply([entry(endpointsOf({ address: "10.3.0.1", weight: 4 }))]);
  assert.deepEqual(workloads(changes), [`-${uid("10.3.0.2")}`]);
  const [change] = registry.state().filter(({ type }) => type === "workload");
  const value = change?.op === "put" ? (change.value as Workload) : undefined;
  assert.deepEqual(value?.memberOf, [
    { namespace: "n", hostname: "e.example", ports: [{ servicePort: 80, targetPort: 81 }] },
  ]);
  assert.equal(value?.capacity, 4);
});

test("a machine is a workload with its own labels and ports", () => {
  const spec = { address: "vm.example", labels: { app: "vm" }, ports: { http: 8080 }, serviceAccount: "vm" };
  const found = only(ambientRegistry().apply([config("WorkloadEntry", "m", spec)]).changes);
  const { addresses: own, hostname, labels, ports } = found;
  assert.deepEqual(
    { own, hostname, labels, ports },
    { own: [], hostname: "vm.example", labels: { app: "vm" }, ports: { http: 8080 } },
  );
});

test("a machine is a workload of its group's name, else of the one that its labels state", () => {
  const nameOf = (annotations: object, labels: object, own: object = {}) => {
    const change = config("WorkloadEntry", "m", { address: "10.1.0.1", labels });
    const value = change.op === "put" ? { ...change.value, annotations, labels: own } : undefined;
    return only(ambientRegistry().apply([{ ...change, value } as RegistryInput]).changes).workloadName;
  };
  const stated = { "service.istio.io/workload-name": "stated" };
  assert.equal(nameOf({ "istio.io/autoRegistrationGroup": "group" }, stated), "group");
  assert.equal(nameOf({}, stated), "stated");
  assert.equal(nameOf({}, stated, { "service.istio.io/workload-name": "own" }), "own");
  assert.equal(nameOf({}, {}), "m");
});

test("of a ServiceEntry whose hosts are resolved as requests come, each host is a workload, wildcards too", () => {
  const spec = { hosts: ["*.wild.example"], resolution: "DYNAMIC_DNS", ports: [{ number: 80, name: "http" }] };
  const { hostname, addresses: none, memberOf } = only(ambientRegistry().apply([entry(spec)]).changes);
  assert.deepEqual([hostname, none, memberOf?.length], ["*.wild.example", [], 1]);
});

test("ports of datagrams in a slice are no ports of addresses without a pod", () => {
  const registry = ambientRegistry();
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "http", port: 8080 },
  ];
  const spec = { selector: undefined, ports: ports.map(({ name }, at) => ({ name, port: 80 + at })) };
  const found = only(
    registry.apply([put(service("s", spec)), put({ ...addresses("s-1", "s", "10.2.0.1"), ports })]).changes,
  );
  assert.deepEqual(found.memberOf?.[0]?.ports, [{ servicePort: 81, targetPort: 8080 }]);
});

test("workloads carry the age of their object, by which waypoints order them", () => {
  const registry = ambientRegistry();
  const object = pod("p", "10.1.0.1");
  const aged = { ...object, metadata: { ...object.metadata, creationTimestamp: "2026-01-01T00:00:05Z" } };
  assert.equal(only(registry.apply([put(aged as KubeObject)]).changes).creationTimeMs, Date.UTC(2026, 0, 1, 0, 0, 5));
  assert.equal(only(registry.apply([entry(endpointsOf({ address: "10.3.0.1" }))]).changes).creationTimeMs, 0);
});
