/** Labels of proxies: what their registry has, and where they are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Endpoint } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aMesh, aService, aSidecar } from "../testing/mesh.ts";

const endpoint: Endpoint = {
  addresses: ["10.0.0.1"],
  servicePortName: "http",
  port: 8080,
  labels: { app: "registered" },
  serviceAccount: "",
  network: "",
  locality: "r/z/s",
  clusterId: "Kubernetes",
  weight: 0,
  tlsMode: "disabled",
  namespace: "n",
  workloadName: "a",
  health: "healthy",
};

const place = { "topology.istio.io/cluster": "Kubernetes", "kubernetes.io/hostname": "node-1" };
const topology = {
  "topology.kubernetes.io/region": "r",
  "topology.kubernetes.io/zone": "z",
  "topology.istio.io/subzone": "s",
};

interface Case {
  readonly name: string;
  readonly shard?: string;
  readonly own?: Partial<Endpoint>;
  readonly metadata?: JsonObject;
  readonly labels: JsonObject;
}

const cases: readonly Case[] = [
  {
    name: "are those of its pod now, not those that its agent read",
    own: { definedBy: "Pod/n/app" },
    labels: { app: "registered", ...topology },
  },
  {
    name: "of a pod are joined by those that were set for the agent",
    own: { definedBy: "Pod/n/app" },
    metadata: { STATIC_LABELS: { app: "static", set: "yes" } },
    labels: { app: "registered", set: "yes", ...topology },
  },
  {
    name: "of a pod name its network before the one that the agent reports",
    own: { definedBy: "Pod/n/app", network: "n1" },
    metadata: { NETWORK: "n2" },
    labels: { app: "registered", "topology.istio.io/network": "n1", ...topology },
  },
  {
    name: "are the reported ones where a pod of another name has its address",
    own: { definedBy: "Pod/n/other" },
    labels: { app: "reported" },
  },
  {
    name: "of a machine are those of its WorkloadEntry",
    shard: "External/Kubernetes",
    own: { definedBy: "WorkloadEntry/n/a" },
    labels: { app: "registered", ...topology },
  },
  {
    name: "are the reported ones where an inline endpoint of a ServiceEntry has its address",
    shard: "External/Kubernetes",
    own: { definedBy: "ServiceEntry/n/a" },
    labels: { app: "reported", ...topology },
  },
  {
    name: "are the reported ones, with those of its place, where nothing is registered",
    own: { addresses: ["10.0.0.2"], definedBy: "Pod/n/app" },
    metadata: { NETWORK: "n2" },
    labels: { app: "reported", "topology.istio.io/network": "n2" },
  },
];

for (const { name, shard = "Kubernetes/Kubernetes", own, metadata, labels } of cases) {
  test(`labels of a proxy ${name}`, () => {
    const service = aService("a", "n", { registry: shard.startsWith("External") ? "External" : "Kubernetes" });
    const core = aMesh(service);
    const key = { shard, namespace: "n", hostname: service.hostname };
    core.apply([{ type: "endpoints", op: "put", key, value: [{ ...endpoint, ...own }] }]);
    const proxy = aSidecar("n", {
      LABELS: { app: "reported" },
      NODE_NAME: "node-1",
      CLUSTER_ID: "Kubernetes",
      ...metadata,
    });
    assert.deepEqual(core.subjectOf(proxy).labels, { ...labels, ...place });
  });
}
