import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, type Labels, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { nameSet } from "@flotilla/xds";
import { Core } from "../../app/core.ts";
import { parseFeatures } from "../../snapshot/features.ts";
import { anObject } from "../../testing/kube-mesh.ts";

const env = { PILOT_ENABLE_AMBIENT: "true" };
const ztunnel = parseNode({
  id: "ztunnel~10.0.9.1~ztunnel-1.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});

const system = anObject("Namespace", "/istio-system", { metadata: { labels: { "topology.istio.io/network": "n" } } });
const service = anObject("Service", "shop/a", {
  spec: { clusterIP: "10.96.0.1", ports: [{ name: "http", port: 80, targetPort: 8080 }], selector: { app: "a" } },
});
function aPod(name: string, address: string, labels: Labels = { app: "a" }): KubeObject {
  return anObject("Pod", `shop/${name}`, {
    metadata: { labels },
    spec: { serviceAccountName: "a" },
    status: { phase: "Running", podIP: address, conditions: [{ type: "Ready", status: "True" }] },
  });
}

function aMesh(objects: readonly KubeObject[], metadata: JsonObject = {}) {
  const core = new Core({ features: parseFeatures(env) });
  const mesh = createMesh(env);
  core.apply(mesh.apply({ put: objects, mesh: {}, networks: {} }));
  const subject = core.subjectOf({ ...ztunnel, metadata: { ...ztunnel.metadata, ...metadata } });
  return {
    put: (...put: readonly KubeObject[]) => core.apply(mesh.apply({ put })),
    all: (type: string = typeUrl.address) => core.resources(subject, type)?.byName ?? new Map(),
    asked: (...names: readonly string[]) => [
      ...(core.resources(subject, typeUrl.address, nameSet(names))?.byName.keys() ?? []),
    ],
  };
}

const uid = (name: string) => `Kubernetes//Pod/shop/${name}`;
const host = "shop/a.shop.svc.cluster.local";
const mesh = aMesh([system, service, aPod("p", "10.0.0.1"), aPod("q", "10.0.0.2", { app: "b" })]);

const cases: readonly { readonly name: string; readonly asked: string; readonly expected: readonly string[] }[] = [
  { name: "a uid is its workload", asked: uid("q"), expected: [uid("q")] },
  { name: "an address is the workloads that have it", asked: "n/10.0.0.2", expected: [uid("q")] },
  { name: "an address of another network is unknown", asked: "m/10.0.0.2", expected: [] },
  { name: "a service comes with its workloads", asked: host, expected: [uid("p"), host] },
  { name: "the address of a service is the service", asked: "n/10.96.0.1", expected: [uid("p"), host] },
  { name: "an unknown service is nothing", asked: "shop/b.shop.svc.cluster.local", expected: [] },
  { name: "a name that is none is nothing", asked: "nonsense", expected: [] },
];
for (const { name, asked, expected } of cases)
  test(name, () => {
    assert.deepEqual(mesh.asked(asked), expected);
  });

test("a change of a pod is a change of its resource alone", () => {
  const changing = aMesh([system, service, aPod("p", "10.0.0.1"), aPod("q", "10.0.0.2")]);
  const before = changing.all();
  changing.put(aPod("q", "10.0.0.3"));
  const after = changing.all();
  const changed = [...after].filter(([name, one]) => before.get(name)?.version !== one.version).map(([name]) => name);
  assert.deepEqual(changed, [uid("q")]);
  assert.deepEqual(after.get(uid("q"))?.aliases, ["n/10.0.0.3"]);
});

test("two pods of one address are both known by it", () => {
  const shared = aMesh([system, aPod("p", "10.0.0.1"), aPod("q", "10.0.0.1")]);
  assert.deepEqual(shared.asked("n/10.0.0.1"), [uid("p"), uid("q")]);
});

test("an address of a workload and of a service is the workload", () => {
  const clash = anObject("Service", "shop/clash", {
    spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "none" } },
  });
  assert.deepEqual(aMesh([system, clash, aPod("p", "10.0.0.1")]).asked("n/10.0.0.1"), [uid("p")]);
  assert.deepEqual(aMesh([system, clash]).asked("n/10.0.0.1"), ["shop/clash.shop.svc.cluster.local"]);
});

test("a client that asks for names is sent the workloads of its own node, too", () => {
  const onNode = (name: string, address: string, nodeName: string) => {
    const pod = aPod(name, address);
    return { ...pod, spec: { ...(pod["spec"] as object), nodeName } };
  };
  const pods = [onNode("p", "10.0.0.1", "n1"), onNode("q", "10.0.0.2", "n2"), onNode("r", "10.0.0.3", "n1")];
  const asked = (node: string) => aMesh([system, ...pods], { NODE_NAME: node }).asked(uid("q"));
  assert.deepEqual(asked("n1"), [uid("p"), uid("q"), uid("r")]);
  assert.deepEqual(asked("n2"), [uid("q")]);
  assert.deepEqual(asked("n3"), [uid("q")]);
});

test("workloads are served as messages of their own, too", () => {
  const found = mesh.all(typeUrl.workload);
  assert.deepEqual([...found.keys()], [uid("p"), uid("q")]);
  const { name, services } = bytesToJson(
    typeUrl.workload,
    found.get(uid("p"))?.bytes ?? new Uint8Array(),
  ) as JsonObject;
  assert.deepEqual(
    { name, services },
    { name: "p", services: { [host]: { ports: [{ servicePort: 80, targetPort: 8080 }] } } },
  );
});

test("nothing is served where the mesh is not ambient", () => {
  const core = new Core();
  core.apply(createMesh({}).apply({ put: [system, service, aPod("p", "10.0.0.1")], mesh: {}, networks: {} }));
  assert.equal(core.resources(core.subjectOf(ztunnel), typeUrl.address)?.byName.size, 0);
});

test("a pod without an address is no workload, and a workload keeps its services when its address changes family", () => {
  const growing = aMesh([system, service, anObject("Pod", "shop/p", { status: { phase: "Pending" } })]);
  assert.deepEqual([...growing.all().keys()], [host]);
  growing.put(aPod("p", "2001:db8::1"));
  assert.deepEqual(growing.asked("n/2001:db8::1"), [uid("p")]);
  assert.deepEqual(growing.asked(host), [uid("p"), host]);
});

test("addresses by hash are sent to no ztunnel, and the host of a ServiceEntry itself has no waypoint", () => {
  const entry = anObject("ServiceEntry", "shop/e", {
    spec: { hosts: ["e.example"], resolution: "DNS", ports: [{ number: 80, name: "http", protocol: "HTTP" }] },
  });
  const gateway = {
    ...anObject("Gateway", "shop/w", {
      metadata: { labels: { "istio.io/waypoint-for": "all" } },
      spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15008, protocol: "HBONE" }] },
      status: { addresses: [{ type: "Hostname", value: "w.shop.svc.cluster.local" }] },
    }),
    apiVersion: "gateway.networking.k8s.io/v1",
  } as KubeObject;
  const namespace = anObject("Namespace", "/shop", { metadata: { labels: { "istio.io/use-waypoint": "w" } } });
  const own = { ...env, PILOT_ENABLE_IP_AUTOALLOCATE: "false" };
  const core = new Core({ features: parseFeatures(own) });
  core.apply(createMesh(own).apply({ put: [namespace, gateway, entry], mesh: {}, networks: {} }));
  const shown = (name: string, of: "service" | "workload"): JsonObject => {
    const resource = core.resources(core.subjectOf(ztunnel), typeUrl.address)?.byName.get(name);
    assert.ok(resource !== undefined, name);
    return (bytesToJson(typeUrl.address, resource.bytes) as JsonObject)[of] as JsonObject;
  };
  const { addresses, waypoint } = shown("shop/e.example", "service");
  assert.deepEqual([addresses, waypoint !== undefined], [undefined, true]);
  const uidOfHost = "Kubernetes/networking.istio.io/ServiceEntry/shop/e/e.example";
  assert.equal(shown(uidOfHost, "workload")["waypoint"], undefined);
});

/** Source: istiod asked, random meshes. */
test("a machine serves a named target port only where it names that port", () => {
  const ports = [
    { name: "http", port: 80, targetPort: "web" },
    { name: "tcp", port: 90, targetPort: 9090 },
    { name: "admin", port: 70, targetPort: "http" },
  ];
  const named = anObject("Service", "shop/a", { spec: { clusterIP: "10.96.0.1", ports, selector: { app: "a" } } });
  const machine = anObject("WorkloadEntry", "shop/vm", {
    metadata: { labels: { app: "a" } },
    spec: { address: "10.0.0.8", labels: { app: "a" }, ports: { http: 8181 } },
  });
  const found = aMesh([system, named, machine]).all().get("Kubernetes/networking.istio.io/WorkloadEntry/shop/vm");
  const { workload } = bytesToJson(typeUrl.address, found?.bytes ?? new Uint8Array()) as {
    readonly workload: { readonly services: Readonly<Record<string, JsonObject>> };
  };
  assert.deepEqual(workload.services[host]?.["ports"], [
    { servicePort: 90, targetPort: 9090 },
    { servicePort: 70, targetPort: 8181 },
  ]);
});
