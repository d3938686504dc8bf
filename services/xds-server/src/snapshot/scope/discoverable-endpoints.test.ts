import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Change, Endpoint } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aSidecar, put } from "../../testing/mesh.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import { keys } from "../row-index.ts";
import type { Subject } from "../subject.ts";
import { query } from "../view.ts";
import { World } from "../world.ts";
import { discoverableEndpoints } from "./discoverable-endpoints.ts";

const endpoint = (clusterId: string, isClusterOnly: boolean): Endpoint => ({
  addresses: [clusterId],
  servicePortName: "http",
  port: 80,
  labels: {},
  serviceAccount: "",
  network: "",
  locality: "",
  clusterId,
  weight: 0,
  tlsMode: "disabled",
  namespace: "",
  workloadName: "",
  health: "healthy",
  ...(isClusterOnly && { isClusterOnly }),
});

interface Case {
  readonly name: string;
  readonly host: string;
  readonly serviceSettings?: readonly JsonObject[];
  readonly features?: readonly ("mcsServiceDiscovery" | "mcsClusterLocal")[];
  /** Clusters that do not export the service. */
  readonly clusterOnly?: readonly string[];
  /** Clusters whose endpoints a proxy of `east` sees. */
  readonly want: string;
}

const local = (clusterLocal: boolean, ...hosts: readonly string[]): JsonObject => ({
  settings: { clusterLocal },
  hosts: [...hosts],
});
const web = "web.shop.svc.cluster.local";
const mcs = ["mcsServiceDiscovery"] as const;
const cases: readonly Case[] = [
  { name: "all clusters by default", host: web, want: "east,own" },
  { name: "a service that is set to be local", host: web, serviceSettings: [local(true, web)], want: "east" },
  { name: "a namespace", host: web, serviceSettings: [local(true, "*.shop.svc.cluster.local")], want: "east" },
  { name: "everything", host: web, serviceSettings: [local(true, "*")], want: "east" },
  {
    name: "everything but one",
    host: web,
    serviceSettings: [local(true, "*"), local(false, web)],
    want: "east,own",
  },
  { name: "services of the system", host: "dns.kube-system.svc.cluster.local", want: "east" },
  { name: "the API server", host: "kubernetes.default.svc.cluster.local", want: "east" },
  { name: "the control plane", host: "istiod.istio-system.svc.cluster.local", want: "east" },
  {
    name: "services of the system that are set not to be",
    host: "dns.kube-system.svc.cluster.local",
    serviceSettings: [local(false, "*.kube-system.svc.cluster.local")],
    want: "east,own",
  },
  { name: "what another cluster does not export", host: web, features: mcs, clusterOnly: ["own"], want: "east" },
  { name: "what the own cluster does not export", host: web, features: mcs, clusterOnly: ["east"], want: "east,own" },
  {
    name: "hosts of clusters where those of the cluster set mean all",
    host: web,
    features: [...mcs, "mcsClusterLocal"],
    want: "east",
  },
  {
    name: "hosts of the cluster set",
    host: "web.shop.svc.clusterset.local",
    features: [...mcs, "mcsClusterLocal"],
    want: "east,own",
  },
];

for (const { name, host, serviceSettings = [], features = [], clusterOnly = [], want } of cases) {
  test(`endpoints that a proxy sees: ${name}`, () => {
    const graph = new Graph<Subject>();
    for (const feature of features) graph.set(keys.feature(feature), true);
    const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
    const [, namespace = ""] = host.split(".");
    const endpoints = ["own", "east"].map(
      (cluster): Change => ({
        type: "endpoints",
        op: "put",
        key: { shard: `Kubernetes/${cluster}`, namespace, hostname: host },
        value: [endpoint(cluster, clusterOnly.includes(cluster))],
      }),
    );
    const defaultConfig = { discoveryAddress: "istiod.istio-system.svc:15012" };
    const settings = { defaultConfig, serviceSettings: [...serviceSettings] };
    const mesh = aConfig("MeshConfig", "istio-system", "istio", settings);
    assert.deepEqual(world.apply([...put(mesh), ...endpoints]), []);
    const seen = query<string>("seen", (view) =>
      [...discoverableEndpoints(view, { namespace, hostname: host }).values()]
        .flat()
        .map(({ clusterId }) => clusterId)
        .sort()
        .join(),
    );
    const proxy = aSidecar("shop", { CLUSTER_ID: "east" });
    assert.equal(graph.evaluate(seen, undefined, { proxy, targets: [] }), want);
  });
}
