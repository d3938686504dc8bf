/** Services of two clusters in one network, as a ztunnel of the first is sent them. Source: scenarios ambient/clusters, ambient/own-cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { createMesh } from "@flotilla/registry";
import { Core } from "../../app/core.ts";
import { anObject } from "../../testing/kube-mesh.ts";
import { parseFeatures } from "../features.ts";

const ztunnel = parseNode({
  id: "ztunnel~10.0.9.1~ztunnel-1.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes" },
});
const mesh = {
  serviceScopeConfigs: [
    { scope: "GLOBAL", servicesSelector: { matchLabels: { global: "yes" } } },
    { scope: "GLOBAL", namespaceSelector: { matchLabels: { global: "yes" } } },
  ],
};
const yes = { global: "yes" };
const no = {};

interface Part {
  readonly labels?: object;
  readonly home?: object;
}

function objectsOf(cluster: 1 | 2, { labels = no, home = no }: Part): readonly KubeObject[] {
  return [
    anObject("Namespace", "/istio-system", { metadata: { labels: { "topology.istio.io/network": "n" } } }),
    anObject("Namespace", "/shop", { metadata: { labels: home as Record<string, string> } }),
    anObject("Service", "shop/a", {
      metadata: { labels: labels as Record<string, string> },
      spec: { clusterIP: `10.9${cluster}.0.1`, ports: [{ name: "http", port: 80 }], selector: { app: "a" } },
    }),
    anObject("Pod", `shop/p${cluster}`, {
      metadata: { labels: { app: "a" } },
      spec: {},
      status: { phase: "Running", podIP: `10.0.0.${cluster}`, conditions: [{ type: "Ready", status: "True" }] },
    }),
  ];
}

/** The addresses of the service, and of each workload the number of its services. */
function sent(own: Part | undefined, other: Part, env: Readonly<Record<string, string>>) {
  const core = new Core({ features: parseFeatures(env) });
  const put = own === undefined ? objectsOf(1, {}).slice(0, 2) : objectsOf(1, own);
  core.apply(createMesh(env).apply({ put, mesh, networks: {}, clusters: { east: objectsOf(2, other) } }));
  const all = core.resources(core.subjectOf(ztunnel), typeUrl.address)?.byName ?? new Map();
  return [...all].map(([name, { bytes }]) => {
    const { service, workload } = bytesToJson(typeUrl.address, bytes) as Readonly<Record<string, JsonObject>>;
    const count = service?.["addresses"] ?? Object.keys((workload?.["services"] as JsonObject | undefined) ?? {});
    return `${name} ${(count as readonly unknown[]).length}`;
  });
}

const multi = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" };
const service = "shop/a.shop.svc.cluster.local";
const [own, other] = ["Kubernetes//Pod/shop/p1", "east//Pod/shop/p2"];
const ambient = { PILOT_ENABLE_AMBIENT: "true" };
const networks = { ...ambient, AMBIENT_ENABLE_MULTI_NETWORK: "true" };

const cases: readonly {
  readonly name: string;
  readonly own?: Part;
  readonly other: Part;
  readonly env?: Readonly<Record<string, string>>;
  readonly expected: readonly string[];
}[] = [
  {
    name: "global in both: the addresses and workloads of both",
    ...{ own: { labels: yes }, other: { labels: yes } },
    expected: [`${own} 1`, `${other} 1`, `${service} 2`],
  },
  {
    name: "global in the own one alone: the other's workload belongs to no service",
    ...{ own: { labels: yes }, other: {} },
    expected: [`${own} 1`, `${other} 0`, `${service} 1`],
  },
  {
    name: "global in the other alone: its workload belongs to the service, its address does not",
    ...{ own: {}, other: { labels: yes } },
    expected: [`${own} 1`, `${other} 1`, `${service} 1`],
  },
  {
    name: "global by the labels of the namespace, each cluster's own",
    ...{ own: { home: yes }, other: { home: yes } },
    expected: [`${own} 1`, `${other} 1`, `${service} 2`],
  },
  {
    name: "in the other cluster alone, and global there",
    ...{ other: { home: yes } },
    expected: [`${other} 1`, `${service} 1`],
  },
  { name: "in the other cluster alone, and not global", other: {}, expected: [`${other} 0`] },
  {
    name: "without gateways between networks: the own cluster's alone",
    ...{ own: { labels: yes }, other: { labels: yes }, env: ambient },
    expected: [`${own} 1`, `${service} 1`],
  },
];
for (const { name, own: ownPart, other: otherPart, env = networks, expected } of cases)
  test(`a service ${name}`, () => {
    assert.deepEqual(sent(ownPart, otherPart, env).sort(), [...expected].sort());
  });

test("workloads of another cluster are those that its part selects, by its ports", () => {
  const [namespace, home] = objectsOf(1, { labels: yes });
  const part = (spec: JsonObject) => anObject("Service", "shop/a", { metadata: { labels: yes }, spec });
  const pod = (name: string, labels: Readonly<Record<string, string>>) =>
    anObject("Pod", `shop/${name}`, {
      metadata: { labels },
      spec: {},
      status: { phase: "Running", podIP: "10.0.0.2" },
    });
  const core = new Core({ features: parseFeatures(multi) });
  const there = {
    clusterIP: "10.92.0.1",
    ports: [{ name: "http", port: 80, targetPort: 9090 }],
    selector: { app: "b" },
  };
  const east = [namespace, home, part(there), pod("p2", { app: "b" }), pod("p3", { app: "a" })];
  const put = objectsOf(1, { labels: yes });
  core.apply(createMesh(multi).apply({ put, mesh, networks: {}, clusters: { east: east as readonly KubeObject[] } }));
  const all = core.resources(core.subjectOf(ztunnel), typeUrl.address)?.byName;
  const portsOf = (uid: string) => {
    const found = all?.get(uid);
    const { workload } = (found === undefined ? {} : bytesToJson(typeUrl.address, found.bytes)) as JsonObject as {
      readonly workload?: { readonly services?: JsonObject };
    };
    return workload?.services;
  };
  assert.deepEqual(portsOf(other), { [service]: { ports: [{ servicePort: 80, targetPort: 9090 }] } });
  assert.equal(portsOf("east//Pod/shop/p3"), undefined);
});
