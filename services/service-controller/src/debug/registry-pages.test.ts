import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterRegistries } from "@flotilla/registry";
import type { ClusterStatus } from "../watch/cluster-status.ts";
import {
  clusterSetPage,
  clustersPage,
  digestsPage,
  endpointsPage,
  instancesPage,
  listProblems,
  servicesPage,
} from "./registry-pages.ts";

const key = (hostname: string) => ({ shard: "Kubernetes/own", namespace: "shop", hostname });
const endpoint = (address: string, definedBy?: string) => ({
  ...{ addresses: [address], port: 80, servicePortName: "http", health: "healthy", weight: 1 },
  ...(definedBy !== undefined && { definedBy }),
});
const state = [
  { type: "service", op: "put", key: key("a"), value: { name: "a" } },
  { type: "service", op: "put", key: key("b"), value: { name: "b" } },
  { type: "service", op: "delete", key: key("c") },
  { type: "endpoints", op: "put", key: key("a"), value: [endpoint("10.0.0.1", "Pod/shop/x"), endpoint("10.0.0.2")] },
  { type: "endpoints", op: "put", key: key("b"), value: [endpoint("10.0.0.1", "Pod/shop/x")] },
  { type: "endpoints", op: "delete", key: key("c") },
  { type: "workload", op: "put", key: {}, value: {} },
];
const registry = {
  state: () => state,
  problems: () => [{ object: "Service/shop/a", reason: "is odd" }],
} as unknown as ClusterRegistries;
const request = (query: string) => ({ query: new URLSearchParams(query) }) as never;
const clusters: readonly ClusterStatus[] = [
  { id: "own", type: "local", secretName: "", syncStatus: "synced", away: undefined },
  { id: "east", type: "remote", secretName: "m/east", syncStatus: "timeout", away: { sinceMs: 1_000, reason: "gone" } },
];
const away = { awaySince: "1970-01-01T00:00:01.000Z", awaySeconds: 3, reason: "gone" };

describe("pages of the registry", () => {
  it("have services, all or of a host", () => {
    const row = (name: string) => ({ ...key(name), value: { name } });
    assert.deepEqual(servicesPage(registry, request("")), { json: { services: [row("a"), row("b")] } });
    assert.deepEqual(servicesPage(registry, request("host=b")), { json: { services: [row("b")] } });
    assert.deepEqual(servicesPage(registry, request("host=x")), { json: { services: [] } });
  });

  it("have endpoints, and the clusters whose endpoints are old", () => {
    assert.deepEqual(endpointsPage(registry, clusters, 4_100, request("host=b")), {
      json: {
        endpoints: [{ ...key("b"), value: [endpoint("10.0.0.1", "Pod/shop/x")] }],
        away: [{ shard: "Kubernetes/east", ...away }],
      },
    });
  });

  it("have what each cluster exports and imports, in istiod's fields", () => {
    const clusterSetServices = () => [
      { cluster: "east", namespace: "shop", name: "a", exported: true, importedAddresses: undefined },
      { cluster: "own", namespace: "shop", name: "a", exported: false, importedAddresses: ["242.0.0.1", "242.0.0.2"] },
    ];
    const common = { Name: "a", Namespace: "shop" };
    const discoverable = { "a.shop.svc.clusterset.local": "AlwaysDiscoverable" };
    assert.deepEqual(clusterSetPage({ clusterSetServices }), {
      json: [
        {
          ...{ Cluster: "east", ...common, Exported: true, Imported: false },
          ...{ ClusterSetVIP: "", Discoverability: discoverable },
        },
        {
          ...{ Cluster: "own", ...common, Exported: false, Imported: true },
          ...{ ClusterSetVIP: "242.0.0.1", Discoverability: null },
        },
      ],
    });
  });

  it("have workloads by the objects that they come from", () => {
    const { weight: _, definedBy: __, ...shown } = { ...endpoint("10.0.0.1"), definedBy: "" };
    const ofPod = [
      { ...key("a"), ...shown },
      { ...key("b"), ...shown },
    ];
    assert.deepEqual(instancesPage(registry, request("")), {
      json: { instances: { "Pod/shop/x": ofPod, "": [{ ...key("a"), ...shown, addresses: ["10.0.0.2"] }] } },
    });
    assert.deepEqual(instancesPage(registry, request("object=Pod/shop/x")), {
      json: { instances: { "Pod/shop/x": ofPod } },
    });
  });

  it("have clusters with their age, and digests of sources that are compared", () => {
    assert.deepEqual(clustersPage(clusters, 4_100), {
      json: [
        { id: "own", secretName: "", syncStatus: "synced" },
        { id: "east", secretName: "m/east", syncStatus: "timeout", ...away },
      ],
    });
    const sources = [{ name: "files" }, { name: "kubernetes", shards: () => [{ shard: "x" }] }] as never;
    assert.deepEqual(digestsPage(sources), { json: { shards: [{ shard: "x" }] } });
  });

  it("have problems of sources and of the registry", () => {
    const problem = { file: "a.yaml", line: 2, reason: "is wrong" };
    assert.deepEqual(listProblems([{ name: "files", problems: () => [problem] }], registry), [
      { source: "files", ...problem },
      { source: "registry", file: "", line: 0, object: "Service/shop/a", reason: "is odd" },
    ]);
  });
});
